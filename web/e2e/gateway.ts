// A service whose gateway is somebody else's: the demo's, behind a line that can be cut.
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { call, type House } from './house.ts'

export interface Line {
  url: string
  cut: () => Promise<void>
  mend: () => Promise<void>
}

/** A line to an address of this machine, on a port that stays when it is cut. */
export async function openLine(to: URL): Promise<Line> {
  const sockets = new Set<Socket>()
  const pass = (from: Socket) => {
    const there = connect(Number(to.port), to.hostname)
    for (const [one, other] of [
      [from, there],
      [there, from],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  }
  let server = createServer(pass)
  const listen = (port: number) => new Promise<void>(done => server.listen(port, '127.0.0.1', done))
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    cut: async () => {
      const closed = new Promise(done => server.close(done))
      for (const s of sockets) s.destroy()
      await closed
    },
    mend: () => {
      server = createServer(pass)
      return listen(port)
    },
  }
}

/** Starts the service on the agents of a demo. */
export async function openService(agents: House, folder: string): Promise<House & { line: Line }> {
  const { url } = (await call(agents, 'GET', '/agentrt/status')) as { url: string }
  const { gateway_token } = JSON.parse(await readFile(join(agents.folder, 'demo.json'), 'utf8'))
  const line = await openLine(new URL(url.replace(/^ws/, 'http')))
  const who = { email: 'owner@example.com', password: 'four words that nobody knows' }
  const child = spawn(resolve(process.env.WARDROOM_BINARY ?? '../bin/wardroom'), ['serve'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      DATA_DIR: folder,
      PORT: '0',
      JWT_SECRET: 'a secret that is only good for tests, and long enough',
      BOOTSTRAP_OWNER_EMAIL: who.email,
      BOOTSTRAP_OWNER_PASSWORD: who.password,
      AGENTRT_GATEWAY_URL: line.url,
      AGENTRT_GATEWAY_TOKEN: gateway_token,
    },
  })
  const stop = async () => {
    await line.cut().catch(() => undefined)
    if (child.exitCode !== null) return
    const ended = new Promise(done => child.once('exit', done))
    child.kill('SIGTERM')
    await ended
  }
  let said = ''
  const base = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', (piece: Buffer) => {
      said += piece.toString()
      const found = /msg=serving address=(\S+)/.exec(said)?.[1]
      if (found) resolve(found)
    })
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`the service ended with ${code}:\n${said}`)))
    setTimeout(() => reject(new Error(`the service says nothing:\n${said}`)), 30_000).unref()
  })
  return { base, ...who, folder, stop, close: stop, line }
}
