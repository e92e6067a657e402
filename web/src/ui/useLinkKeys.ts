import type { RefObject } from 'react'
import { useKeys } from '../app/keys'
import { texts } from '../texts'

const words = texts.tasks.keys

/** Keyboard navigation for the links that match a selector: j and k move, o opens the focused one. */
export function useLinkKeys(box: RefObject<HTMLElement | null>, selector: string): void {
  const links = () => [...(box.current?.querySelectorAll<HTMLElement>(selector) ?? [])]
  const at = (all: readonly HTMLElement[]) => all.findIndex(a => a.contains(document.activeElement))
  const go = (by: number) => {
    const all = links()
    const from = at(all)
    all[from < 0 ? 0 : Math.max(0, Math.min(all.length - 1, from + by))]?.focus()
  }
  const open = () => {
    const all = links()
    all[at(all)]?.click()
  }
  useKeys([
    { keys: 'j', label: words.next, run: () => go(1) },
    { keys: 'k', label: words.previous, run: () => go(-1) },
    { keys: 'o', label: words.open, run: open },
  ])
}
