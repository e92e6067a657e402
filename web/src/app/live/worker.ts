import { Sharing } from './share'

// The shared worker of all tabs. The page's types don't have its global scope.
interface SharedScope {
  onconnect: ((e: MessageEvent) => void) | null
}

const sharing = new Sharing({
  fetch: (input, init) => fetch(input, init),
  now: () => Date.now(),
  random: () => Math.random(),
})

;(globalThis as unknown as SharedScope).onconnect = e => {
  const port = e.ports[0]
  if (port) sharing.add(port)
}
