import type { QueryClient } from '@tanstack/react-query'
import { type ComponentType, createElement, type ReactNode, useEffect, useSyncExternalStore } from 'react'
import { NotLoaded } from '../frame/NotLoaded'
import { cache } from './cache'
import { useLineState } from './live'
import { checkBuild } from './newBuild'
import { registerLazy } from './preload'
import { session } from './session'

/** Props of the fallback that is shown when a lazy component couldn't load. */
export interface Missing<P> {
  again: () => void
  /** Failed attempts since the component was first shown. */
  failures: number
  /** The props of the lazy component. */
  of: P
}

type PropsOf<C> = C extends (props: infer P extends object) => ReactNode ? P : object

/** Whether any lazy component has loaded. The first one loads along with the page, so the server must be up. */
let begun = false

/**
 * Throws while the server is not responding. Browsers cache a failed module import for the lifetime of the page, so an
 * import must be attempted only if it can succeed.
 */
async function reach(): Promise<void> {
  if (!begun) return
  const answer = await fetch('/theme.js', { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(10_000) })
  // A proxy answered instead of the server.
  if (answer.status >= 500) throw new Error(`the service is away: ${answer.status}`)
}

/** Time between retries while the stream is live, in ms. */
const pause = 5_000

/**
 * Returns a component that loads when it is first shown, or earlier with `preload`. If loading fails, `missing` is
 * shown instead, and loading is retried while the stream is live.
 */
export function lazy<M, N extends keyof M & string>(
  get: () => Promise<M>,
  name: N,
  missing: ComponentType<Missing<PropsOf<M[N]>>>,
): ((props: PropsOf<M[N]>) => ReactNode) & { preload: () => Promise<void> } {
  type P = PropsOf<M[N]>
  let made: ComponentType<P> | null = null
  let loading: Promise<void> | null = null
  let failures = 0
  const watchers = new Set<() => void>()
  const tell = () => {
    for (const f of watchers) f()
  }
  const subscribe = (f: () => void) => {
    watchers.add(f)
    return () => watchers.delete(f)
  }
  const load = async (): Promise<void> => {
    if (made) return
    loading ??= reach()
      .then(get)
      .then(
        module => {
          made = module[name] as ComponentType<P>
          begun = true
        },
        (err: unknown) => {
          loading = null
          throw err
        },
      )
    await loading
    tell()
  }
  /** Loads the component because it is on screen. */
  const show = (): void =>
    void load().catch(() => {
      failures++
      tell()
      // A new build on the server is the usual cause.
      void checkBuild()
    })
  const forget = () => {
    failures = 0
  }
  registerLazy(load)

  function Later(props: P) {
    const is = useSyncExternalStore(subscribe, () => made)
    const failed = useSyncExternalStore(subscribe, () => failures)
    // There is no stream before sign-in.
    const live = useLineState() === 'live' || session.token() === null
    useEffect(() => {
      if (is) return
      show()
      return forget
    }, [is])
    const again = !is && failed > 0 && live
    useEffect(() => {
      if (!again) return
      // The stream usually went live a moment ago.
      const soon = setTimeout(show, 250)
      const timer = setInterval(show, pause)
      return () => {
        clearTimeout(soon)
        clearInterval(timer)
      }
    }, [again])
    if (is) return createElement(is, props)
    return failed > 0 ? createElement(missing, { again: show, failures: failed, of: props }) : null
  }
  Later.preload = () => load().catch(() => undefined)
  return Later
}

/** What a page's module exports besides its component. */
interface PlaceModule<S> {
  /** Prefetches the first queries of the page. The page itself retries those that fail. */
  ask?: (cache: QueryClient, search: S) => Promise<unknown>
}

/**
 * Returns a lazy page. Its route calls `ask` when the user is about to open it, so that data loads while the page
 * renders, or earlier.
 */
export function lazyPage<M, N extends keyof M & string>(get: () => Promise<M>, name: N) {
  type S = M extends { ask: (cache: QueryClient, search: infer S) => Promise<unknown> } ? S : unknown
  let place: PlaceModule<S> | null = null
  let waiting: S | undefined
  const ask = (search: S): void => {
    if (place) void place.ask?.(cache, search).catch(() => undefined)
    else waiting = search
  }
  const take = async () => {
    const module = await get()
    place = module as PlaceModule<S>
    if (waiting !== undefined) ask(waiting)
    return module
  }
  // Pages have no props. Inferring the type from the module would be circular, because a page imports its route.
  const page = lazy(take as () => Promise<Record<string, () => ReactNode>>, name, NotLoaded)
  return Object.assign(page, { ask })
}
