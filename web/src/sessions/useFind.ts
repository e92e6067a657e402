import type { Virtualizer } from '@tanstack/react-virtual'
import { createContext, type RefObject, useCallback, useDeferredValue, useEffect, useMemo, useState } from 'react'
import { useKeys } from '../app/keys'
import { sessions as sessionsWords } from '../texts/sessions'
import { type Match, matchesOf, wantedOf } from './find'
import type { Step } from './steps'

const words = sessionsWords.find

/** The searched text in lowercase, so that shortened outputs that contain it are shown whole. */
export const FindText = createContext('')

export interface Find {
  open: boolean
  query: string
  setQuery: (query: string) => void
  matches: readonly Match[]
  /** Index of the current match. */
  at: number
  go: (by: 1 | -1) => void
  show: () => void
  close: () => void
}

interface Options {
  steps: readonly Step[]
  list: Virtualizer<HTMLDivElement, Element>
  scroller: RefObject<HTMLDivElement | null>
  /** Expands steps and calls. */
  expand: (ids: readonly string[]) => void
}

/** Search within a transcript: mod+f opens it, Enter and Shift+Enter move between the matches. */
export function useFind({ steps, list, scroller, expand }: Options): Find {
  const [open, setOpen] = useState(false)
  const [query, setTyped] = useState('')
  // The match is kept by its step's ID, because older steps may load before it.
  const [current, setCurrent] = useState<{ id: string; match: Match } | null>(null)
  const typed = useDeferredValue(query)
  const wanted = open ? typed : ''
  const matches = useMemo(() => matchesOf(steps, wanted), [steps, wanted])
  const found = current
    ? matches.findIndex(
        m => steps[m.step]?.id === current.id && m.call === current.match.call && m.nth === current.match.nth,
      )
    : -1
  // Starts with the newest match, because a transcript opens at its end.
  const at = found < 0 ? matches.length - 1 : found
  const goTo = useCallback(
    (match: Match | undefined) => {
      const step = match && steps[match.step]
      if (!match || !step) return
      setCurrent({ id: step.id, match })
      expand(match.call < 0 ? [step.id] : [step.id, `${step.id}/${match.call}`])
      list.scrollToIndex(match.step, { align: 'center' })
    },
    [steps, list, expand],
  )
  const first = matches.at(-1)
  const settled = found >= 0 || wanted === ''
  useEffect(() => {
    if (!settled) goTo(first)
  }, [settled, first, goTo])
  useHighlights(scroller, wanted, matches[at])
  useKeys([{ keys: 'mod+f', label: words.label, run: () => setOpen(true) }])
  return {
    open,
    query,
    setQuery: q => {
      setTyped(q)
      setCurrent(null)
    },
    matches,
    at,
    go: by => goTo(matches[(at + by + matches.length) % Math.max(1, matches.length)]),
    show: () => setOpen(true),
    close: () => {
      setOpen(false)
      scroller.current?.focus()
    },
  }
}

/** Highlights the matches in the visible steps, without changing their elements. */
function useHighlights(scroller: RefObject<HTMLDivElement | null>, query: string, current: Match | undefined): void {
  useEffect(() => {
    const within = scroller.current
    const wanted = wantedOf(query)
    if (!within || wanted === '' || !('highlights' in CSS)) return
    let asked = 0
    let shown = false
    const draw = () => {
      asked = 0
      const { all, now } = rangesOf(within, wanted, current)
      CSS.highlights.set('found', new Highlight(...all))
      CSS.highlights.set('found-now', Object.assign(new Highlight(...now), { priority: 1 }))
      const [at] = now
      if (!at || shown) return
      shown = true
      const by = at.getBoundingClientRect().top - within.getBoundingClientRect().top
      if (by < 40 || by > within.clientHeight - 40) within.scrollTop += by - within.clientHeight / 2
    }
    const soon = () => {
      asked ||= requestAnimationFrame(draw)
    }
    soon()
    const watch = new MutationObserver(soon)
    watch.observe(within, { childList: true, subtree: true, characterData: true })
    return () => {
      watch.disconnect()
      cancelAnimationFrame(asked)
      CSS.highlights.delete('found')
      CSS.highlights.delete('found-now')
    }
  }, [scroller, query, current])
}

/** Returns the ranges of all drawn matches, and that of the current one. */
function rangesOf(within: Element, wanted: string, current: Match | undefined): { all: Range[]; now: Range[] } {
  const all: Range[] = []
  const now: Range[] = []
  const seen = new Map<string, number>()
  const name = current && `${current.step}/${current.call}`
  for (const part of within.querySelectorAll<HTMLElement>('[data-find]')) {
    const key = `${part.closest<HTMLElement>('[data-index]')?.dataset.index}/${part.dataset.find}`
    for (const range of rangesIn(part, wanted)) {
      const nth = seen.get(key) ?? 0
      seen.set(key, nth + 1)
      if (key === name && nth === current?.nth) now.push(range)
      else all.push(range)
    }
  }
  return { all, now }
}

/** Returns the ranges of a text within an element, also across its inner elements. */
function rangesIn(part: Element, wanted: string): Range[] {
  const nodes: { node: Node; from: number }[] = []
  let text = ''
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    nodes.push({ node, from: text.length })
    text += node.nodeValue ?? ''
  }
  const place = (at: number) => {
    const in_ = nodes.findLast(n => n.from <= at)
    return in_ && { node: in_.node, offset: at - in_.from }
  }
  const ranges: Range[] = []
  const lower = text.toLowerCase()
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) {
    const start = place(at)
    const last = place(at + wanted.length - 1)
    if (!start || !last) continue
    const range = document.createRange()
    range.setStart(start.node, start.offset)
    range.setEnd(last.node, Math.min(last.offset + 1, last.node.nodeValue?.length ?? 0))
    ranges.push(range)
  }
  return ranges
}
