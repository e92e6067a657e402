// Runs nginx with the configurations that docs/proxy.md shows.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Returns the nginx configurations below a heading of docs/proxy.md, in their order, for a Wardroom at an address.
 */
export async function documented(heading: string, to: string): Promise<string[]> {
  const document = await readFile(join(import.meta.dirname, '../../docs/proxy.md'), 'utf8')
  const section = document.split(/^## /m).find(s => s.startsWith(`${heading}\n`))
  const blocks = [...(section ?? '').matchAll(/^```nginx\n(.*?)^```/gms)].map(m => m[1] ?? '')
  if (!blocks.length) throw new Error(`docs/proxy.md has no nginx configuration below "${heading}"`)
  return blocks.map(b => b.replaceAll('http://127.0.0.1:3000', to))
}

export interface Nginx {
  /** Where nginx listens as soon as it serves. */
  url: string
  /** A folder for files that a configuration names. */
  folder: string
  /** Starts nginx with a part of a `server` block. */
  serve: (locations: string) => Promise<void>
  close: () => Promise<void>
}

export async function openNginx(): Promise<Nginx> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'wardroom-nginx-'))
  let nginx: ChildProcess | undefined
  return {
    url: `http://127.0.0.1:${port}`,
    folder,
    serve: async locations => {
      const config = join(folder, 'nginx.conf')
      await writeFile(config, configOf(folder, port, locations))
      nginx = spawn('nginx', ['-p', folder, '-c', config, '-e', 'stderr'], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { PATH: `${process.env.PATH}:/usr/sbin` },
      })
      let said = ''
      nginx.stderr?.on('data', piece => (said += piece))
      nginx.on('error', err => (said += err.message))
      for (let tries = 0; !(await listens(port)); tries++) {
        if (nginx.exitCode !== null || nginx.pid === undefined || tries > 600)
          throw new Error(`nginx did not start: ${said}`)
        await sleep(100)
      }
    },
    close: async () => {
      if (nginx?.exitCode === null && nginx.kill()) await once(nginx, 'exit')
      await rm(folder, { recursive: true })
    },
  }
}

// One process, as any user: without a master, and with its temporary files in the folder.
const configOf = (folder: string, port: number, locations: string) => `
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
    ${locations}
  }
}
`

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
