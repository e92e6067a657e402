import type { QueryClient } from '@tanstack/react-query'
import {
  type AsyncRouteComponent,
  CatchBoundary,
  type ErrorComponentProps,
  lazyRouteComponent,
} from '@tanstack/react-router'
import { type ReactNode, Suspense, useEffect, useState } from 'react'
import { whatSent } from '../api/problem'
import { base } from './base'
import { cache } from './cache'
import { noteForeign } from './delivery'
import { idle } from './idle'
import { useLineState } from './live'
import { checkBuild } from './newBuild'
import { session } from './session'

/** The error of a lazy component that couldn't load. */
class LoadError extends Error {
  /** Loads the component again, and reports whether that succeeded. */
  readonly again: () => Promise<boolean>

  constructor(again: () => Promise<boolean>, cause: unknown) {
    super('a part of the dashboard could not be loaded', { cause })
    this.again = again
  }
}

/** Loaders of the lazy modules and components, in the order of registration. */
const parts: (() => Promise<unknown>)[] = []

/** Whether any lazy module has loaded. The first one loads along with the page, so the server must be up. */
let begun = false

/**
 * Throws while the server is not responding. Browsers cache a failed module import for the lifetime of the page, so an
 * import must be attempted only if it can succeed.
 */
async function reach(): Promise<void> {
  if (!begun) return
  const signal = AbortSignal.timeout(10_000)
  const answer = await fetch(`${base}/theme.js`, { method: 'HEAD', cache: 'no-store', redirect: 'manual', signal })
  // Otherwise, a proxy answered, and would also answer the import.
  const own = answer.ok && /^text\/javascript\b/i.test(answer.headers.get('Content-Type') ?? '')
  noteForeign('files', own ? null : whatSent(answer))
  if (!own) throw new Error(`the server answered ${answer.status}`)
}

/** Returns a function that imports a module once. After a failure, the next call tries again. */
export function lazyModule<M>(get: () => Promise<M>): () => Promise<M> {
  let loading: Promise<M> | undefined
  const load = async () => {
    try {
      await reach()
      const module = await get()
      begun = true
      return module
    } catch (err) {
      loading = undefined
      throw err
    }
  }
  const once = () => {
    loading ??= load()
    return loading
  }
  parts.push(once)
  return once
}

/** Returns a component that loads when it is first shown or preloaded. */
function lazyComponent<P>(load: () => Promise<unknown>, name: string) {
  // The router would reload the page after a failed import, but not after a LoadError.
  const importer = () => load().catch(cause => Promise.reject(new LoadError(again, cause)))
  const component: AsyncRouteComponent<P> = lazyRouteComponent(
    importer as () => Promise<Record<string, (props: P) => ReactNode>>,
    name,
  )
  // The router removes `preload` once the component has loaded.
  const again = async (): Promise<boolean> => {
    await component.preload?.()
    return component.preload === undefined
  }
  parts.push(again)
  return component
}

/** Time between retries while the stream is live, in ms. */
const pause = 5_000

/** Returns whether an error is that of a lazy component, and not of showing it. */
export const isLoadError = (error: unknown): boolean => error instanceof LoadError

/** Retries a component that couldn't load while the stream is live. Returns the failures, and a function that retries. */
export function useRetry({ error, reset }: ErrorComponentProps): { failures: number; again: () => void } {
  // Other errors are for the boundary above.
  if (!(error instanceof LoadError)) throw error
  const [failures, setFailures] = useState(1)
  // There is no stream before sign-in.
  const live = useLineState() === 'live' || session.token() === null
  const again = () => void error.again().then(loaded => (loaded ? reset() : setFailures(n => n + 1)))
  // A new build on the server is the usual cause.
  useEffect(() => void (failures > 0 && checkBuild()), [failures])
  // biome-ignore lint/correctness/useExhaustiveDependencies: `again` is another function in each render.
  useEffect(() => {
    if (!live) return
    // The stream usually went live a moment ago.
    const soon = setTimeout(again, 250)
    const timer = setInterval(again, pause)
    return () => {
      clearTimeout(soon)
      clearInterval(timer)
    }
  }, [live, error])
  return { failures, again }
}

function Retry(props: ErrorComponentProps) {
  useRetry(props)
  return null
}

/**
 * Returns a component outside the pages that loads when it is first shown, or earlier with `load`. Until it has loaded,
 * nothing is shown.
 */
export function lazyPart<M, N extends keyof M & string>(get: () => Promise<M>, name: N) {
  type P = M[N] extends (props: infer P extends object) => ReactNode ? P : object
  const load = lazyModule(get)
  const Part = lazyComponent<P>(load, name)
  const Later = (props: P) => (
    <CatchBoundary errorComponent={Retry} getResetKey={() => name}>
      <Suspense>
        <Part {...props} />
      </Suspense>
    </CatchBoundary>
  )
  return Object.assign(Later, { load })
}

/**
 * Returns a lazy page, and the function with which its route prefetches the page's first queries as soon as its module
 * is there. The page itself retries queries that fail.
 */
export function lazyPage<M, N extends keyof M & string>(get: () => Promise<M>, name: N) {
  type Ask<S> = (cache: QueryClient, search: S) => Promise<unknown>
  type S = M extends { ask: Ask<infer S> } ? S : unknown
  // Pages have no props. Inferring the type from the module would be circular, because a page refers to its route.
  const load = lazyModule(get)
  const ask = (search: S): void =>
    void load()
      .then(module => (module as { ask?: Ask<S> }).ask?.(cache, search))
      .catch(() => undefined)
  return Object.assign(lazyComponent<object>(load, name), { ask })
}

/**
 * Loads all lazy modules one by one while the browser is idle, so that every page opens even if the server goes
 * away. Stops at the first failure, when aborted, or if the browser is set to save data.
 */
export async function preloadAll(signal: AbortSignal): Promise<void> {
  if ((navigator as Navigator & { connection?: { saveData?: boolean } }).connection?.saveData) return
  for (const load of parts) {
    await idle(5_000)
    if (signal.aborted) return
    try {
      await load()
    } catch {
      return
    }
  }
}
