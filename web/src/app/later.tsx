import type { QueryClient } from '@tanstack/react-query'
import { type ComponentType, createElement, type ReactNode, useEffect, useSyncExternalStore } from 'react'
import { NotLoaded } from '../frame/NotLoaded'
import { askBuild } from './build'
import { cache } from './cache'
import { useLineState } from './live'
import { tellPart } from './parts'
import { session } from './session'

/** What is shown in the place of a part that could not be loaded. */
export interface Missing<P> {
  again: () => void
  /** How often it could not be loaded since it was asked for. */
  failures: number
  /** What the part would have been given. */
  of: P
}

type PropsOf<C> = C extends (props: infer P extends object) => ReactNode ? P : object

/** Whether some part has come already. The first is asked for with the page, and where that came from the part is, too. */
let begun = false

/**
 * Fails while the service does not answer. A browser remembers of a module that it could not be loaded, and does not
 * ask for it again as long as the page lives: so none is asked for in vain.
 */
async function reach(): Promise<void> {
  if (!begun) return
  const answer = await fetch('/theme.js', { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(10_000) })
  // What stands before the service answers in its place.
  if (answer.status >= 500) throw new Error(`the service is away: ${answer.status}`)
}

/** How long after a failure the next try is made while the line is live. */
const pause = 5_000

/**
 * A component that is loaded when it is first shown, or before by `preload`. What cannot be loaded never takes the page
 * away: `missing` stands in its place, and it is tried again by itself while the line is live.
 */
export function later<M, N extends keyof M & string>(
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
  /** For somebody who looks at where it should be. */
  const show = (): void =>
    void load().catch(() => {
      failures++
      tell()
      // The usual reason that a part is gone for good.
      void askBuild()
    })
  const forget = () => {
    failures = 0
  }
  tellPart(load)

  function Later(props: P) {
    const is = useSyncExternalStore(subscribe, () => made)
    const failed = useSyncExternalStore(subscribe, () => failures)
    // There is no line before somebody signs in.
    const live = useLineState() === 'live' || session.token() === null
    useEffect(() => {
      if (is) return
      show()
      return forget
    }, [is])
    const again = !is && failed > 0 && live
    useEffect(() => {
      if (!again) return
      // It is live as a rule because it has just become so.
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

/** What the module of a place may have beside its component. */
interface PlaceModule<S> {
  /** Asks for what the place shows first, where nothing is known of it. What fails is asked for again by the place. */
  ask?: (cache: QueryClient, search: S) => Promise<unknown>
}

/**
 * A place, or a part of one, as `later`. `ask` is for the route to call when somebody is about to go there: so the
 * service is asked while the place is drawn, or before.
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
  // A page is given nothing; what it looks like may not be asked here, for it asks its route.
  const page = later(take as () => Promise<Record<string, () => ReactNode>>, name, NotLoaded)
  return Object.assign(page, { ask })
}
