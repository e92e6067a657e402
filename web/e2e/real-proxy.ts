// Runs nginx and Caddy with the configurations that docs/proxy.md shows.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export type Program = 'nginx' | 'caddy'

/** Returns the configurations of a program below a heading of docs/proxy.md, in their order, for a Wardroom at an address. */
export async function documented(program: Program, heading: string, to: string): Promise<string[]> {
  const document = await readFile(join(import.meta.dirname, '../../docs/proxy.md'), 'utf8')
  const section = document.split(/^## /m).find(s => s.startsWith(`${heading}\n`)) ?? ''
  const blocks = [...section.matchAll(new RegExp(`^\`\`\`${program}\n(.*?)^\`\`\``, 'gms'))].map(m => m[1] ?? '')
  if (!blocks.length) throw new Error(`docs/proxy.md has no configuration of ${program} below "${heading}"`)
  return blocks.map(b => b.replaceAll('127.0.0.1:3000', new URL(to).host))
}

export interface RealProxy {
  /** Where the program listens as soon as it serves. */
  url: string
  /** A folder for files that a configuration names. */
  folder: string
  /** Starts the program with documented configurations: parts of a `server` block of nginx, or sites of Caddy. */
  serve: (configuration: string) => Promise<void>
  close: () => Promise<void>
}

export async function openRealProxy(program: Program): Promise<RealProxy> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'wardroom-proxy-'))
  const file = join(folder, 'config')
  let child: ChildProcess | undefined
  return {
    url: `http://127.0.0.1:${port}`,
    folder,
    serve: async configuration => {
      const { args, text } = commands[program](folder, file, port, configuration)
      await writeFile(file, text)
      child = spawn(program, args, {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { PATH: `${process.env.PATH}:/usr/sbin`, HOME: folder },
      })
      let said = ''
      child.stderr?.on('data', piece => (said += piece))
      child.on('error', err => (said += err.message))
      for (let tries = 0; !(await listens(port)); tries++) {
        if (child.exitCode !== null || child.pid === undefined || tries > 600)
          throw new Error(`${program} did not start: ${said}`)
        await sleep(100)
      }
    },
    close: async () => {
      if (child?.exitCode === null && child.kill()) await once(child, 'exit')
      await rm(folder, { recursive: true })
    },
  }
}

const commands: Record<
  Program,
  (folder: string, file: string, port: number, configuration: string) => { args: string[]; text: string }
> = {
  // One process, as any user: without a master, and with its temporary files in the folder.
  nginx: (folder, file, port, configuration) => ({
    args: ['-p', folder, '-c', file, '-e', 'stderr'],
    text: `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port};
    ${configuration}
  }
}
`,
  }),
  // Without TLS, because the names of the tests have no certificates.
  caddy: (_, file, port, configuration) => ({
    args: ['run', '--adapter', 'caddyfile', '--config', file],
    text: `{
	admin off
}
${configuration.replaceAll('ops.example.com', `http://127.0.0.1:${port}`)}`,
  }),
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

const listens = (port: number) =>
  new Promise<boolean>(answer => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      answer(true)
    })
    socket.on('error', () => answer(false))
  })
