import type { QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import type { Frame } from '../../api/sse'
import { noteForeign } from '../delivery'
import { session } from '../session'
import { type Connection, connect } from './connect'
import { dispatch, type Patch, rereadFailed } from './patches'
import type { ToTab } from './share'
import { type Line, parse } from './stream'

const away: Line = { state: 'offline', heardAt: null }
let line = away
const watchers = new Set<() => void>()

const followed = new Map<string, number>()
let refollow: () => void = () => undefined

/** Subscribes to every message of a session. The returned function unsubscribes. */
export function followSession(key: string): () => void {
  const count = (by: number) => {
    const now = (followed.get(key) ?? 0) + by
    if (now > 0) followed.set(key, now)
    else followed.delete(key)
    refollow()
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

function setLine(next: Line): void {
  line = next
  for (const tell of watchers) tell()
}

/** How long a tab without a shared worker keeps its own stream while it is hidden, in ms. */
const hiddenFor = 20_000

/** Applies the events of the signed-in user to the query cache. All tabs of the browser share one event stream. */
export function startLive(cache: QueryClient, patches: readonly Patch[]): void {
  let greeted = false
  const onFrame = (frame: Frame, moved: boolean) => {
    if (frame.event === 'position') return
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
    if (frame.event === 'hello' && !moved) rereadFailed(cache)
  }
  const hear = (said: ToTab) => {
    // What was sent before the tab left still arrives.
    if (!joined) return
    if (said.kind === 'frame') onFrame(said.frame, said.moved)
    else if (said.kind === 'line') setLine(said.line)
    else if (said.kind === 'foreign') noteForeign('stream', said.what)
    else if (said.kind === 'refused') session.refused(said.token, said.code)
  }
  let joined = false
  const join = (to: Connection) => {
    const token = session.token()
    greeted = false
    joined = token !== null
    if (token === null) return leave(to)
    to.send({ kind: 'follow', keys: [...followed.keys()] })
    to.send({ kind: 'join', token })
  }
  const leave = (to: Connection) => {
    joined = false
    to.send({ kind: 'leave' })
    noteForeign('stream', null)
    setLine(away)
  }
  const to = connect(hear, join)
  refollow = () => to.send({ kind: 'follow', keys: [...followed.keys()] })
  session.subscribe(() => join(to))
  join(to)
  const look = () => (joined ? to.send({ kind: 'nudge' }) : join(to))
  addEventListener('online', look)
  addEventListener('pageshow', look)
  addEventListener('pagehide', () => leave(to))
  let hidden: ReturnType<typeof setTimeout> | undefined
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hidden)
    if (!document.hidden) look()
    else if (!to.isShared()) hidden = setTimeout(() => leave(to), hiddenFor)
  })
}
