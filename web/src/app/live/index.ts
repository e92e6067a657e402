import type { QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import type { Frame } from '../../api/sse'
import { noteForeign } from '../delivery'
import { session } from '../session'
import { dispatch, type Patch, rereadFailed } from './patches'
import { type Line, LiveStream, parse } from './stream'

let line: Line = { state: 'offline', heardAt: null }
const watchers = new Set<() => void>()

/** The server's limit for followed sessions per stream. */
const mostFollowed = 10
const followed = new Map<string, number>()
let refollow: () => void = () => undefined
let asking = false

/** Subscribes to every message of a session. The returned function unsubscribes. */
export function followSession(key: string): () => void {
  const count = (by: number) => {
    const now = (followed.get(key) ?? 0) + by
    if (now > 0) followed.set(key, now)
    else followed.delete(key)
    // Batches changes, so that switching sessions reconnects once.
    if (asking) return
    asking = true
    setTimeout(() => {
      asking = false
      refollow()
    }, 50)
  }
  count(1)
  return () => count(-1)
}

const subscribe = (f: () => void) => {
  watchers.add(f)
  return () => watchers.delete(f)
}

/** Returns the state of the stream. Renders again when the state changes, not with every frame. */
export const useLineState = (): Line['state'] => useSyncExternalStore(subscribe, () => line.state)

/** When the last data arrived, in ms. */
export const heardAt = (): number | null => line.heardAt

/** Opens the event stream of this tab while the user is signed in, and applies its events to the query cache. */
export function startLive(cache: QueryClient, patches: readonly Patch[]): void {
  let greeted = false
  // Set when the stream reconnects to follow other sessions, so that the next hello is not taken for a recovery.
  let moved = false
  const onFrame = (frame: Frame) => {
    if (frame.event === 'position') return
    const back = frame.event === 'hello' && !moved
    if (frame.event === 'hello') moved = false
    if (frame.event === 'hello' && !greeted) {
      greeted = true
      // Data that was fetched before the stream opened may lack events from in between.
      const now = Date.now()
      void cache.invalidateQueries({ predicate: q => q.state.dataUpdatedAt > 0 && q.state.dataUpdatedAt <= now })
      rereadFailed(cache)
      return
    }
    if (frame.event === 'reset') {
      greeted = true
      void cache.invalidateQueries()
      return
    }
    dispatch(patches, { kind: frame.event, data: parse(frame.data) }, cache)
    if (back) rereadFailed(cache)
  }
  const stream = new LiveStream({
    fetch: (input, init) => fetch(input, init),
    now: () => Date.now(),
    random: () => Math.random(),
    token: session.token,
    sessions: () => [...followed.keys()].slice(-mostFollowed),
    onFrame,
    onLine: next => {
      line = next
      if (next.state !== 'live') moved = false
      for (const tell of watchers) tell()
    },
    onForeign: what => noteForeign('stream', what),
    onRefused: (token, code) => session.refused(token, code),
  })
  let asked = ''
  refollow = () => {
    const now = [...followed.keys()].join(',')
    if (now === asked) return
    asked = now
    moved = line.state === 'live'
    stream.refollow()
  }
  const follow = () => {
    stream.stop()
    greeted = false
    if (session.token() !== null) stream.start()
  }
  session.subscribe(follow)
  follow()
  addEventListener('online', () => stream.nudge())
  addEventListener('pageshow', () => stream.nudge())
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) stream.nudge()
  })
}
