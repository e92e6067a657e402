// The service as somebody has it who runs `wardroom serve`, and a line to a gateway that can be cut.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, connect as dial, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve as whole } from 'node:path'
import { call, type House } from './house.ts'

export interface Service {
  base: string
  folder: string
  /** The link that makes the owner; empty when there is one. */
  link: string
  stop: () => Promise<void>
  close: () => Promise<void>
}

/** Starts `wardroom serve` in a folder of its own, or again where it was, with settings on top of the usual ones. */
export async function openService(settings: Record<string, string> = {}, again?: Service): Promise<Service> {
  const folder = again?.folder ?? (await mkdtemp(join(tmpdir(), 'wardroom-serve-')))
  const child: ChildProcess = spawn(whole(process.env.WARDROOM_BINARY ?? '../bin/wardroom'), ['serve'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      HOST: '127.0.0.1',
      PORT: again ? new URL(again.base).port : '0',
      DATA_DIR: folder,
      JWT_SECRET: 'a secret for the tests of the browser, long enough',
      ...settings,
    },
  })
  const stop = async () => {
    if (child.exitCode === null) {
      const ended = new Promise(done => child.once('exit', done))
      child.kill('SIGTERM')
      await ended
    }
  }
  const close = async () => {
    await stop()
    await rm(folder, { recursive: true, force: true })
  }
  let said = ''
  return new Promise<Service>((resolve, reject) => {
    child.stderr?.on('data', (piece: Buffer) => {
      said += piece.toString()
      const base = /address=(http:\/\/[^\s"]+)|"address":"(http:[^"]+)"/.exec(said)
      const link = /(http:\/\/\S+\/setup#\S+)/.exec(said)?.[1] ?? ''
      const at = base?.[1] ?? base?.[2]
      // The link is printed before it serves or after; who has an owner already gets none.
      if (at && (link || again || settings.BOOTSTRAP_OWNER_EMAIL)) resolve({ base: at, folder, link, stop, close })
    })
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`serve ended with ${code}:\n${said}`)))
    setTimeout(() => reject(new Error(`serve says nothing:\n${said}`)), 30_000).unref()
  })
}

export interface CutLine {
  url: string
  cut: () => Promise<void>
  mend: () => Promise<void>
}

/** A line to a gateway through a port of our own, so that it can be cut without ending either side. */
export async function openLine(target: string): Promise<CutLine> {
  const { hostname, port } = new URL(target)
  const open = new Set<Socket>()
  let server: Server
  let own = 0
  const listen = () =>
    new Promise<void>(ready => {
      server = createServer(one => {
        const other = dial(Number(port), hostname)
        for (const [from, to] of [
          [one, other],
          [other, one],
        ] as const) {
          open.add(from)
          from.pipe(to)
          from.on('error', () => to.destroy())
          from.on('close', () => {
            open.delete(from)
            to.destroy()
          })
        }
      }).listen(own, '127.0.0.1', () => {
        const address = server.address()
        if (address && typeof address === 'object') own = address.port
        ready()
      })
    })
  await listen()
  return {
    url: `ws://127.0.0.1:${own}`,
    mend: listen,
    cut: () =>
      new Promise<void>(done => {
        server.close(() => done())
        for (const socket of open) socket.destroy()
      }),
  }
}

/** The gateway of a demo, for another service: where it is, and its shared token. */
export async function gatewayOf(house: House): Promise<{ url: string; token: string }> {
  const { url } = (await call(house, 'GET', '/agentrt/status')) as { url: string }
  const state = JSON.parse(await readFile(join(house.folder, 'demo.json'), 'utf8')) as { gateway_token: string }
  return { url, token: state.gateway_token }
}
