import { type RefObject, useEffect, useRef, useState } from 'react'
import { useKeys } from '../app/keys'
import { texts } from '../texts'
import { inbox as inboxWords } from '../texts/inbox'
import { Age } from '../ui/Age'
import { Button, IconButton } from '../ui/Button'
import { MenuButton, type OpenMenu, useSharedMenu } from '../ui/SharedMenu'
import { KindMark, SeverityMark, StateMark, SubjectLink } from './Bits'
import type { Told } from './item'
import { Remedy } from './Remedy'
import type { ItemActions } from './useItemActions'

const words = inboxWords

interface Props {
  items: readonly Told[]
  verbs: ItemActions
  onOpen: (id: string) => void
  opened?: string | undefined
}

/**
 * The items with their actions. The j and k keys move, o opens, and e acknowledges the focused row, or else the open
 * item. When the focused row disappears, the next one gets the focus.
 */
export function ItemList({ items, verbs, onOpen, opened }: Props) {
  const list = useRef<HTMLUListElement>(null)
  const [current, setCurrent] = useState<{ id: string; focus: number }>({ id: '', focus: 0 })
  const [onMenu, shared] = useSharedMenu()
  const at = items.findIndex(i => i.id === current.id)
  const meant = items[at] ?? items.find(i => i.id === opened)
  useKeys([
    { keys: 'j', label: words.keys.next, run: () => go(1) },
    { keys: 'k', label: words.keys.previous, run: () => go(-1) },
    { keys: 'o', label: words.keys.open, run: () => meant && onOpen(meant.id) },
    {
      keys: 'e',
      label: words.keys.ack,
      run: () => meant && (meant.state === 'open' || meant.state === 'snoozed') && verbs.act(meant, { do: 'ack' }),
    },
  ])
  const go = (by: number) => {
    const from = at < 0 ? items.findIndex(i => i.id === opened) : at
    const row = items[from < 0 ? 0 : Math.max(0, Math.min(items.length - 1, from + by))]
    if (row) setCurrent(was => ({ id: row.id, focus: was.focus + 1 }))
  }
  useEffect(() => {
    if (current.focus > 0) buttonOf(list.current, current.id)?.focus()
  }, [current])
  useFocusKept(list, items, current.id, id => setCurrent(was => ({ id, focus: was.focus + 1 })))
  return (
    <>
      <ul ref={list} aria-label={texts.app.places.inbox} className="@container">
        {items.map(i => (
          <Row
            key={i.id}
            item={i}
            onFocus={() => i.id !== current.id && setCurrent({ id: i.id, focus: 0 })}
            onMenu={onMenu}
            onOpen={onOpen}
            opened={i.id === opened}
            verbs={verbs}
          />
        ))}
      </ul>
      {shared}
    </>
  )
}

const buttonOf = (list: HTMLElement | null, id: string) =>
  list?.querySelector<HTMLElement>(`[data-item="${CSS.escape(id)}"]`)

/** How long a closing menu or dialog may take, in ms. */
const handover = 80

/** Moves the focus to the next row when the focused one disappears, so that it isn't lost. */
function useFocusKept(
  list: RefObject<HTMLUListElement | null>,
  items: readonly Told[],
  current: string,
  onNext: (id: string) => void,
): void {
  const before = useRef<readonly Told[]>(items)
  const latest = useRef(onNext)
  useEffect(() => {
    latest.current = onNext
    const was = before.current.findIndex(i => i.id === current)
    const next = was >= 0 && !items.some(i => i.id === current) ? items[Math.min(was, items.length - 1)] : undefined
    before.current = items
    if (!next) return
    // A closing menu or dialog returns the focus first. Only take it if nothing has it then.
    setTimeout(() => {
      const has = document.activeElement
      if (has === null || has === document.body || has === list.current) latest.current(next.id)
    }, handover)
  })
}

interface RowProps {
  item: Told
  opened: boolean
  verbs: ItemActions
  onOpen: (id: string) => void
  onMenu: OpenMenu
  onFocus: () => void
}

const small = 'h-6! min-w-6! pointer-coarse:h-9! pointer-coarse:min-w-9!'

function Row({ item, opened, verbs, onOpen, onMenu, onFocus }: RowProps) {
  return (
    <li
      className={`flex items-center gap-2 border-line border-b px-3 py-1 @6xl:min-h-8 @6xl:py-0.5 ${opened ? 'bg-accent-tint' : 'hover:bg-hover'}`}
      onFocus={onFocus}
    >
      <div className="flex min-w-0 grow flex-col @6xl:flex-row @6xl:items-center @6xl:gap-3">
        <span className="hidden w-20 shrink-0 @6xl:inline-flex">
          <SeverityMark of={item.severity} />
        </span>
        <button
          aria-current={opened || undefined}
          className="min-h-[24px] min-w-0 text-left font-medium hover:underline @6xl:grow"
          data-item={item.id}
          onClick={() => onOpen(item.id)}
          title={item.title}
          type="button"
        >
          <bdi className="wrap-anywhere line-clamp-2 leading-snug">{item.title}</bdi>
        </button>
        <Meta item={item} />
        <span className="empty:hidden @6xl:w-32 @6xl:shrink-0 @6xl:empty:block">
          <Remedy small item={item} />
        </span>
      </div>
      <span className="flex shrink-0 items-center justify-end @6xl:w-48">
        {item.state === 'open' && (
          <Button
            aria-label={words.ackOf(item.title)}
            className={`${small} px-1.5!`}
            icon="check"
            look="quiet"
            onClick={() => verbs.act(item, { do: 'ack' })}
            title={words.ackOf(item.title)}
          >
            <span className="hidden text-xs @2xl:inline">{words.ack}</span>
          </Button>
        )}
        {item.state !== 'resolved' && (
          <IconButton
            aria-haspopup="menu"
            className={small}
            icon="clock"
            label={words.snoozeOf(item.title)}
            onClick={e => onMenu(e.currentTarget, () => verbs.snoozeGroups(item))}
          />
        )}
        <MenuButton groups={() => verbs.groups(item)} label={words.moreOf(item.title)} onMenu={onMenu} />
      </span>
    </li>
  )
}

/** Further facts about the item, in columns on wide screens. */
function Meta({ item }: { item: Told }) {
  const column = 'min-w-0 items-center @6xl:flex @6xl:shrink-0'
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-x-3 text-soft text-xs @6xl:shrink-0 @6xl:flex-nowrap">
      <span className="flex items-center @6xl:hidden">
        <SeverityMark of={item.severity} />
      </span>
      <span className={`flex ${column} @6xl:w-30`}>
        <KindMark of={item.kind} />
      </span>
      <span className={`flex ${column} max-w-full @6xl:w-28`}>
        <SubjectLink of={item} />
      </span>
      <span className={`flex ${column} @6xl:w-36`}>
        <StateMark of={item} />
      </span>
      <span className={`${item.assignee ? 'flex' : 'hidden'} ${column} @6xl:w-24`}>
        {item.assignee && (
          <bdi className="truncate" title={`${words.fields.assignee}: ${item.assignee.name}`}>
            {item.assignee.name}
          </bdi>
        )}
      </span>
      <span className={`flex ${column} gap-1.5 @6xl:w-40 @6xl:justify-end`}>
        <span title={words.raised(item.count)}>
          {item.count > 1 && `${words.times(item.count)} `}
          <Age at={item.first_at} /> {words.ago}
        </span>
      </span>
    </span>
  )
}
