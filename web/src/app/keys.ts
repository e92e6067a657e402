import { useEffect, useRef } from 'react'
import { view } from './view'

/** A keyboard shortcut: `j`, `?`, `g t` (one after the other), `mod+k` (⌘ or Ctrl). */
export interface Binding {
  keys: string
  label: string
  run: () => void
  /** Returns whether the shortcut applies to this focus; always if omitted. */
  when?: (target: EventTarget | null) => boolean
}

const sets: (() => readonly Binding[])[] = []
let first: { key: string; at: number } | null = null
/** Maximum time between the two keys of a sequence, in ms. */
const between = 1200

/** All active shortcuts. Later entries take precedence. */
export const bindings = (): Binding[] => sets.flatMap(of => of())

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** Returns whether the focus is in a dialog, menu, or listbox, which handle keys themselves. */
const elsewhere = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.closest('[role="dialog"]:not([data-keys]), [role="menu"], [role="listbox"]') !== null

function find(keys: string, target: EventTarget | null): Binding | undefined {
  return bindings().findLast(b => b.keys === keys && (b.when?.(target) ?? true))
}

function onKey(e: KeyboardEvent): void {
  if (e.defaultPrevented || e.isComposing || e.altKey) return
  const mod = e.metaKey || e.ctrlKey
  const key = e.key.length === 1 ? e.key.toLowerCase() : e.key
  if (mod) {
    const found = find(`mod+${key}`, e.target)
    if (!found) return
    e.preventDefault()
    found.run()
    return
  }
  if (!view().keys || typing(e.target) || elsewhere(e.target)) return
  const before = first !== null && e.timeStamp - first.at < between ? first.key : null
  first = null
  const found = (before !== null && find(`${before} ${key}`, e.target)) || find(key, e.target)
  if (found) {
    e.preventDefault()
    found.run()
    return
  }
  if (bindings().some(b => b.keys.startsWith(`${key} `))) first = { key, at: e.timeStamp }
}

export function startKeys(): void {
  addEventListener('keydown', onKey)
}

/** Registers shortcuts while the component is mounted. The most recently mounted one wins. */
export function useKeys(of: readonly Binding[]): void {
  const latest = useRef(of)
  useEffect(() => {
    latest.current = of
  })
  useEffect(() => {
    const read = () => latest.current
    sets.push(read)
    return () => {
      sets.splice(sets.indexOf(read), 1)
    }
  }, [])
}
