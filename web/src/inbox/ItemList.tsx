import { useEffect, useRef, useState } from 'react'
import { useKeys } from '../app/keys'
import { texts } from '../texts'
import { inbox as inboxWords } from '../texts/inbox'
import { useSharedMenu } from '../ui/SharedMenu'
import { SeverityMark } from './Bits'
import { ItemRow } from './ItemRow'
import { grouped, type Told } from './item'
import type { ItemActions } from './useItemActions'

const words = inboxWords

interface Props {
  items: readonly Told[]
  verbs: ItemActions
  onOpen: (id: string, byKey?: boolean) => void
  /** Called when a key, or the removal of a row, moves to another row; null if no row is left. */
  onMove?: (id: string | null) => void
  opened?: string | undefined
  /** Whether the list stands beside the opened item. */
  beside?: boolean
  /** Whether to show the items in groups by urgency. */
  inGroups?: boolean
}

/** Returns whether Enter has no meaning of its own at the focus. */
const isFree = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  (target.matches('[data-item]') || target.closest('a, button, summary, [role=tab], [role=button]') === null)

/**
 * The items with their actions. The keys act on the focused row, or else on the open item. When the focused row
 * disappears, the next one gets the focus.
 */
export function ItemList({ items, verbs, onOpen, onMove, opened, beside = false, inGroups = false }: Props) {
  const list = useRef<HTMLDivElement>(null)
  const [current, setCurrent] = useState<{ id: string; focus: number }>({ id: '', focus: 0 })
  const [onMenu, shared] = useSharedMenu()
  const focused = items.findIndex(i => i.id === current.id)
  const at = focused < 0 ? items.findIndex(i => i.id === opened) : focused
  const item = items[at]
  const moveTo = (id: string | null) => {
    setCurrent(was => ({ id: id ?? '', focus: was.focus + 1 }))
    onMove?.(id)
  }
  const go = (by: number) => {
    const row = items[at < 0 ? 0 : Math.max(0, Math.min(items.length - 1, at + by))]
    if (row) moveTo(row.id)
  }
  useKeys([
    { keys: 'j', label: words.keys.next, run: () => go(1) },
    { keys: 'k', label: words.keys.previous, run: () => go(-1) },
    { keys: 'o', label: words.keys.open, run: () => item && onOpen(item.id, true) },
    {
      keys: 'Enter',
      label: words.keys.act,
      when: isFree,
      run: () => item && rowOf(list.current, item.id)?.querySelector<HTMLElement>('[data-act]')?.click(),
    },
    { keys: 'e', label: words.keys.resolve, run: () => item && item.state !== 'resolved' && verbs.resolve(item) },
    {
      keys: 's',
      label: words.keys.snooze,
      run: () => {
        const anchor = item && item.state !== 'resolved' && buttonOf(list.current, item.id)
        if (anchor) onMenu(anchor, () => verbs.snoozeGroups(item))
      },
    },
    { keys: 'a', label: words.keys.ack, run: () => item && mayAck(item) && verbs.act(item, { do: 'ack' }) },
  ])
  useEffect(() => {
    if (current.focus > 0) buttonOf(list.current, current.id)?.focus()
  }, [current])
  useFocusKept(items, current.id || (opened ?? ''), moveTo)
  const groups = inGroups ? grouped(items) : [{ severity: null, items }]
  return (
    <div ref={list} className="@container">
      {groups.map(g => (
        <section key={g.severity} aria-label={g.severity ? words.severity[g.severity] : texts.app.places.inbox}>
          {g.severity && (
            <h3 className="sticky top-0 z-10 border-line border-b bg-panel px-3 py-1 text-xs">
              <SeverityMark of={g.severity} /> <span className="text-soft">{g.items.length}</span>
            </h3>
          )}
          <ul>
            {g.items.map(i => (
              <ItemRow
                key={i.id}
                beside={beside}
                item={i}
                main={i === items[0] && (!beside || opened === i.id)}
                onFocus={() => i.id !== current.id && setCurrent({ id: i.id, focus: 0 })}
                onMenu={onMenu}
                onOpen={onOpen}
                opened={i.id === opened}
                verbs={verbs}
              />
            ))}
          </ul>
        </section>
      ))}
      {shared}
    </div>
  )
}

const mayAck = (item: Told): boolean => item.state === 'open' || item.state === 'snoozed'

/** Returns the title button of an item. */
export const buttonOf = (list: HTMLElement | null, id: string) =>
  list?.querySelector<HTMLElement>(`[data-item="${CSS.escape(id)}"]`)

const rowOf = (list: HTMLElement | null, id: string) => buttonOf(list, id)?.closest('li')

/** How long a closing menu or dialog may take, in ms. */
const handover = 80

/** Moves to the next row when the current one disappears and takes the focus with it. */
function useFocusKept(items: readonly Told[], current: string, onNext: (id: string | null) => void): void {
  const before = useRef<readonly Told[]>(items)
  const latest = useRef(onNext)
  useEffect(() => {
    latest.current = onNext
    const was = before.current.findIndex(i => i.id === current)
    const gone = was >= 0 && !items.some(i => i.id === current)
    before.current = items
    if (!gone) return
    const next = items[Math.min(was, items.length - 1)]?.id ?? null
    // A closing menu or dialog returns the focus first. Only move on if no control has it then.
    setTimeout(() => {
      const has = document.activeElement
      if (!(has instanceof HTMLElement) || has.tabIndex < 0) latest.current(next)
    }, handover)
  })
}
