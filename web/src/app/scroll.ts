import type { AnyRouter, RouterHistory } from '@tanstack/react-router'

/** How far the scrollers of a page are scrolled, from the top and from the left, by their names. */
export type Offsets = Record<string, readonly [number, number]>

/** Where history.state has them. */
const field = 'scroll'
/** Of how many entries of the history they are remembered. */
const most = 50
/** How long rows are waited for, and how long they have to stand still. */
const patience = 10_000
const steady = 300

// The browser keeps the state of an entry over a reload, for this tab alone and no longer than it.
const kept = new Map<string, Offsets>()
let current = ''

// The router's own history has patched the history of the window.
const replaceState = (state: unknown): void => History.prototype.replaceState.call(history, state, '')

function isOffsets(v: unknown): v is Offsets {
  return (
    typeof v === 'object' &&
    v !== null &&
    Object.values(v).every(at => Array.isArray(at) && at.length === 2 && at.every(n => typeof n === 'number'))
  )
}

/** Takes what an entry has kept out of its state, before the router compares that with another. */
function takeOut(): void {
  const state: unknown = history.state
  if (typeof state !== 'object' || state === null || !(field in state)) return
  const { [field]: found, ...rest } = state as Record<string, unknown>
  replaceState(rest)
  if (typeof found !== 'object' || found === null) return
  for (const [key, offsets] of Object.entries(found)) if (!kept.has(key) && isOffsets(offsets)) kept.set(key, offsets)
}

/** Puts what is known into the state of the entry that is shown, from where a reload takes it. */
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

/** By what a scroller is found again: the page is made anew, and has no ids but for the frame. */
export function nameOf(e: Element): string {
  const label = e.getAttribute('aria-label')
  const tag = e.localName
  if (e.id === 'content') return `${tag}#content`
  return label ? `${tag}[aria-label="${CSS.escape(label)}"]` : `${tag}[class="${CSS.escape(e.className)}"]`
}

const content = (): HTMLElement | null => document.getElementById('content')
const find = (name: string): Element | null =>
  name === 'main#content' ? content() : (content()?.querySelector(name) ?? null)

/** Whether somebody has a say in where it stands who knows better: a transcript begins at its end. */
const own = (e: Element): boolean => e.closest('[data-scroll="own"]') !== null

let stop: () => void = () => undefined
let restoring: ReadonlySet<string> = new Set()

/**
 * Scrolls to where it was as soon as the rows are there, and keeps to it until they stand still. Whoever scrolls or
 * types meanwhile has decided otherwise.
 */
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
  // Before the router's own, which is added when its history is made.
  addEventListener('popstate', takeOut)
}

/** Keeps how far each entry of the history is scrolled, and scrolls there on the way back and after a reload. */
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
    // The same view under another address; a redirect is none yet.
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
    // What is around the places stays, and would be as far down as the one before.
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
