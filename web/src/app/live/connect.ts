import { storedName } from '../base'
import { beatEvery, type FromTab, Sharing, type ToTab } from './share'

/** A tab's connection to the streams. */
export interface Connection {
  send: (said: FromTab) => void
  /** Whether other tabs use the same streams. */
  isShared: () => boolean
}

/** How long a shared worker may take to load, in ms. */
const loads = 10_000
/** After this long without a word, the worker is gone: it sends a beat every 5 s. */
const gone = 6 * beatEvery

/** Starts the streams within this tab. */
function alone(hear: (said: ToTab) => void): MessagePort {
  const { port1, port2 } = new MessageChannel()
  new Sharing({
    fetch: (input, init) => fetch(input, init),
    now: () => Date.now(),
    random: () => Math.random(),
  }).add(port2)
  port1.onmessage = (e: MessageEvent<ToTab>) => hear(e.data)
  return port1
}

function startWorker(onError: () => void): MessagePort | null {
  if (typeof SharedWorker !== 'function') return null
  try {
    const worker = new SharedWorker(new URL('./worker.ts', import.meta.url), {
      type: 'module',
      name: storedName('wardroom live'),
    })
    worker.onerror = onError
    return worker.port
  } catch {
    return null // forbidden, as all storage is in some browsers
  }
}

/**
 * Connects this tab to the streams: in the worker that all tabs share or, if the browser has none, in the tab itself.
 * `onNew` is called with each new connection, which knows nothing of earlier messages.
 */
export function connect(hear: (said: ToTab) => void, onNew: (to: Connection) => void): Connection {
  let port: MessagePort | undefined
  let isShared = false
  // Before this tab has joined, as on the page for signing in, the worker has nothing to say to it.
  let joined = false
  const use = (next: MessagePort, shared: boolean) => {
    port?.close()
    port = next
    isShared = shared
  }
  const stay = () => {
    use(alone(hear), false)
    onNew(to)
  }
  const to: Connection = {
    send: said => {
      if (said.kind === 'join') joined = true
      else if (said.kind === 'leave') joined = false
      port?.postMessage(said)
    },
    isShared: () => isShared,
  }
  const share = (): boolean => {
    const worker = startWorker(() => worker === port && stay())
    if (!worker) return false
    let heard = Date.now()
    let looked = heard
    let first = true
    worker.onmessage = (e: MessageEvent<ToTab>) => {
      heard = Date.now()
      first = false
      if (e.data.kind === 'beat') worker.postMessage({ kind: 'here' } satisfies FromTab)
      else hear(e.data)
    }
    const timer = setInterval(() => {
      if (worker !== port) return clearInterval(timer)
      const now = Date.now()
      // The machine slept, or the browser paused a hidden tab.
      if (!joined || now - looked > 3 * beatEvery) heard = now
      looked = now
      if (now - heard < (first ? loads : gone)) return
      clearInterval(timer)
      // A worker that has ended can be started again; one that never came can't.
      if (first || !share()) stay()
      else onNew(to)
    }, beatEvery)
    use(worker, true)
    return true
  }
  if (!share()) use(alone(hear), false)
  return to
}
