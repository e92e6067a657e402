// A TCP proxy that can cut connections without stopping either side.
import { connect, createServer, type Server, type Socket } from 'node:net'

export interface TcpProxy {
  /** The address of the proxy, with the target's scheme. */
  url: string
  cut: () => Promise<void>
  /** Accepts connections again, on the same port. */
  restore: () => Promise<void>
}

export async function openProxy(to: string): Promise<TcpProxy> {
  const { protocol, hostname, port } = new URL(to)
  const open = new Set<Socket>()
  const pass = (from: Socket) => {
    const there = connect(Number(port), hostname)
    for (const [one, other] of [
      [from, there],
      [there, from],
    ] as const) {
      open.add(one)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
    }
  }
  let server: Server
  let own = 0
  const restore = () =>
    new Promise<void>(ready => {
      server = createServer(pass).listen(own, '127.0.0.1', () => {
        const address = server.address()
        if (address && typeof address === 'object') own = address.port
        ready()
      })
    })
  const cut = () =>
    new Promise<void>(done => {
      server.close(() => done())
      for (const socket of open) socket.destroy()
    })
  await restore()
  return { url: `${protocol}//127.0.0.1:${own}`, cut, restore }
}
