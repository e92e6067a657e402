import type { AnyRouter, RouterHistory } from '@tanstack/react-router'

/** Scroll offsets (top, left) of the elements on a page, by element name. */
type Offsets = Record<string, readonly [number, number]>

/** The key in history.state. */
const field = 'scroll'
/** Maximum number of remembered history entries. */
const most = 50
/** How long to wait for rows to appear, and how long their positions must be stable, in ms. */
const patience = 10_000
const steady = 300

// Offsets by history entry. The browser keeps history.state across a reload, only for this tab.
const kept = new Map<string, Offsets>()
let current = ''

// Bypasses the router, which patches window.history.
const replaceState = (state: unknown): void => History.prototype.replaceState.call(history, state, '')

function isOffsets(v: unknown): v is Offsets {
  return (
    typeof v === 'object' &&
    v !== null &&
    Object.values(v).every(at => Array.isArray(at) && at.length === 2 && at.every(n => typeof n === 'number'))
  )
}

/** Moves the saved offsets out of the entry's state, before the router compares it. */
function takeOut(): void {
  const state: unknown = history.state
  if (typeof state !== 'object' || state === null || !(field in state)) return
  const { [field]: found, ...rest } = state as Record<string, unknown>
  replaceState(rest)
  if (typeof found !== 'object' || found === null) return
  for (const [key, offsets] of Object.entries(found)) if (!kept.has(key) && isOffsets(offsets)) kept.set(key, offsets)
}

/** Saves the offsets in the current entry's state, so that they survive a reload. */
function putIn(): void {
  const state: unknown = history.state
  if (typeof state !== 'object' || state === null || Reflect.get(state, '__TSR_key') !== current) return
  replaceState({ ...state, [field]: Object.fromEntries(kept) })
}

function keep(key: string, offsets: Offsets): void {
  kept.delete(key)
  kept.set(key, offsets)
  for (const oldest of kept.keys()) if (kept.size > most) kept.delete(oldest)
}

/** Returns a selector that finds a scrolling element again after the page is rendered anew. */
function nameOf(e: Element): string {
  const label = e.getAttribute('aria-label')
  const tag = e.localName
  if (e.id === 'content') return `${tag}#content`
  return label ? `${tag}[aria-label="${CSS.escape(label)}"]` : `${tag}[class="${CSS.escape(e.className)}"]`
}

const content = (): HTMLElement | null => document.getElementById('content')
const find = (name: string): Element | null =>
  name === 'main#content' ? content() : (content()?.querySelector(name) ?? null)

/** Returns whether the element manages its scroll position itself, as transcripts do. */
const own = (e: Element): boolean => e.closest('[data-scroll="own"]') !== null

let stop: () => void = () => undefined
let restoring: ReadonlySet<string> = new Set()

/** Restores scroll offsets once the rows are there, until they are stable or the user scrolls or types. */
function restore(offsets: Offsets): void {
  stop()
  const end = new AbortController()
  const began = performance.now()
  let reached: number | null = null
  const wanted = Object.entries(offsets)
  restoring = new Set(wanted.map(([name]) => name))
  const step = (now: number) => {
    if (end.signal.aborted) return
    let there = true
    for (const [name, [top, left]] of wanted) {
      const e = find(name)
      if (!e) {
        there = false
        continue
      }
      if (Math.abs(e.scrollTop - top) > 1) e.scrollTop = top
      if (Math.abs(e.scrollLeft - left) > 1) e.scrollLeft = left
      if (Math.abs(e.scrollTop - top) > 1 || Math.abs(e.scrollLeft - left) > 1) there = false
    }
    reached = there ? (reached ?? now) : null
    if (now - began > patience || (reached !== null && now - reached > steady)) stop()
    else requestAnimationFrame(step)
  }
  stop = () => {
    end.abort()
    restoring = new Set()
  }
  for (const kind of ['wheel', 'touchstart', 'pointerdown', 'keydown'])
    addEventListener(kind, stop, { signal: end.signal, capture: true, passive: true })
  step(began)
}

if (typeof document !== 'undefined') {
  takeOut()
  // Must run before the router's listener, which is added with its history.
  addEventListener('popstate', takeOut)
}

/** Saves the scroll offsets of each history entry, and restores them on back, forward, and reload. */
export function startScroll(router: AnyRouter): void {
  const keyOf = (state: { __TSR_key?: string | undefined }): string => state.__TSR_key ?? ''
  current = keyOf(router.history.location.state)
  let back = true
  let moving = true
  let waiting = false
  const putSoon = () => {
    if (waiting) return
    waiting = true
    setTimeout(() => {
      waiting = false
      putIn()
    }, 200)
  }
  const history: RouterHistory = router.history
  history.subscribe(({ location, action }) => {
    const next = keyOf(location.state)
    if (next === current) return
    stop()
    const was = kept.get(current)
    // The same page at another address. A redirect has no offsets yet.
    if (action.type === 'REPLACE' && was) keep(next, was)
    back = action.type === 'REPLACE' ? back && moving : action.type !== 'PUSH'
    current = next
    moving = true
    putSoon()
  })
  router.subscribe('onResolved', ({ pathChanged }) => {
    if (!moving) return
    moving = false
    const offsets = kept.get(current)
    // The frame around the pages stays mounted and would keep its scroll position.
    if (pathChanged) content()?.scrollTo(0, 0)
    if (back && offsets) restore(offsets)
    back = false
  })
  document.addEventListener(
    'scroll',
    ({ target }) => {
      if (moving || !(target instanceof Element) || !content()?.contains(target) || own(target)) return
      const name = nameOf(target)
      if (restoring.has(name)) return
      keep(current, { ...kept.get(current), [name]: [Math.round(target.scrollTop), Math.round(target.scrollLeft)] })
      putSoon()
    },
    { capture: true, passive: true },
  )
}
