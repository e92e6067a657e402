// Proxies: one that can cut connections without stopping either side, and one that can answer itself.
import { createServer as createWebServer, type IncomingMessage, request } from 'node:http'
import { connect, createServer, type Server, type Socket } from 'node:net'

export interface TcpProxy {
  /** The address of the proxy, with the target's scheme. */
  url: string
  /** What was sent to the target. */
  sent: string[]
  cut: () => Promise<void>
  /** Accepts connections again, on the same port. */
  restore: () => Promise<void>
}

export async function openProxy(to: string): Promise<TcpProxy> {
  const { protocol, hostname, port } = new URL(to)
  const open = new Set<Socket>()
  const sent: string[] = []
  const pass = (from: Socket) => {
    from.on('data', piece => sent.push(piece.toString('latin1')))
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
  return { url: `${protocol}//127.0.0.1:${own}`, sent, cut, restore }
}

/** How a proxy answers a request itself. */
export interface ProxyAnswer {
  status: number
  headers?: Record<string, string>
  body?: string
}

export interface WebProxy {
  url: string
  /** Returns how the proxy answers itself; `wait` for never, undefined to pass the request on. */
  answer: (request: IncomingMessage) => ProxyAnswer | 'wait' | undefined
  /** The paths of the requests that have no complete response yet. */
  open: Set<IncomingMessage>
  close: () => Promise<void>
}

/** A web proxy that may answer instead of its target. */
export async function openWebProxy(to: string): Promise<WebProxy> {
  const server = createWebServer((req, res) => {
    const given = proxy.answer(req)
    proxy.open.add(req)
    res.on('close', () => proxy.open.delete(req))
    if (given === 'wait') return
    if (given) {
      res.writeHead(given.status, { 'Content-Type': 'text/html', ...given.headers })
      res.end(given.body ?? '<h1>Sign in to the proxy</h1>')
      return
    }
    const there = request(to + req.url, { method: req.method ?? 'GET', headers: req.headers }, answer => {
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(res)
    })
    there.on('error', () => res.destroy())
    res.on('close', () => there.destroy())
    req.pipe(there)
  })
  await new Promise<void>(ready => server.listen(0, '127.0.0.1', ready))
  const address = server.address()
  const port = address && typeof address === 'object' ? address.port : 0
  const proxy: WebProxy = {
    url: `http://127.0.0.1:${port}`,
    answer: () => undefined,
    open: new Set(),
    close: () =>
      new Promise(done => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
  return proxy
}
