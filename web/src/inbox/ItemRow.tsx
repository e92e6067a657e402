import { useQuery } from '@tanstack/react-query'
import { waitingQuery } from '../approvals/queries'
import { quantity } from '../spend/headroom'
import { inbox as inboxWords } from '../texts/inbox'
import { Age } from '../ui/Age'
import { Icon } from '../ui/Icon'
import { Keys } from '../ui/Keys'
import { MenuButton, type OpenMenu } from '../ui/SharedMenu'
import { StateMark } from './Bits'
import { ItemButtons } from './ItemButtons'
import type { Told } from './item'
import { kindTable } from './kinds'
import { reasonOf } from './reason'
import { useCostSoFar } from './useCostSoFar'
import type { ItemActions } from './useItemActions'
import { useLimitOf } from './useLimitOf'

const words = inboxWords

interface Props {
  item: Told
  opened: boolean
  /** Whether the rows stand beside the opened item, which has all the buttons. */
  beside: boolean
  /** Whether the row's first button is the main one of the page. */
  main: boolean
  verbs: ItemActions
  onOpen: (id: string) => void
  onMenu: OpenMenu
  onFocus: () => void
}

/** An item in the list: its title, the reason, facts, and buttons. */
export function ItemRow({ item, opened, beside, main, verbs, onOpen, onMenu, onFocus }: Props) {
  // The title of a question has its first part, and the others say little without their options.
  const usage = useUsageOf(item)
  const reason = item.kind === 'question' ? null : (usage ?? reasonOf(item))
  const { icon, failure } = kindTable[item.kind]
  const tone = item.state === 'resolved' ? 'text-soft' : failure ? 'text-danger' : 'text-attention'
  // A narrow row has room for one button, beside the facts. The opened item has all of them.
  const few = beside
    ? '[&>:not([data-act],[data-more])]:hidden'
    : '@max-3xl:[&>:not([data-act],[data-more])]:hidden @3xl:col-start-2 @3xl:row-span-3 @3xl:row-start-1'
  const whole = beside ? 'col-span-2' : 'col-span-2 @3xl:col-span-1'
  return (
    <li
      className={`relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 border-line border-b px-3 py-2.5 ${opened ? 'lg:bg-accent-tint' : 'hover:bg-hover'}`}
      onFocus={onFocus}
    >
      <button
        aria-current={opened || undefined}
        className={`-my-[3px] flex min-w-0 items-start gap-2 py-[3px] text-left font-medium after:absolute after:inset-0 hover:underline ${whole}`}
        data-item={item.id}
        onClick={() => onOpen(item.id)}
        title={item.title}
        type="button"
      >
        <Icon className={`mt-0.5 ${tone}`} name={icon} />
        <bdi className="wrap-anywhere line-clamp-2 leading-snug">
          <Keys>{item.title}</Keys>
        </bdi>
      </button>
      {reason && (
        <p className={`wrap-anywhere line-clamp-2 pl-6 text-soft leading-snug ${whole}`} title={reason}>
          <bdi>
            <Keys>{reason}</Keys>
          </bdi>
        </p>
      )}
      <Meta item={item} />
      <span className={`relative flex items-center gap-2 ${opened ? 'lg:[&>[data-act]]:invisible' : ''} ${few}`}>
        <ItemButtons item={item} main={main} verbs={verbs} />
        <span data-more="">
          <MenuButton groups={() => verbs.groups(item)} label={words.moreOf(item.title)} onMenu={onMenu} />
        </span>
      </span>
    </li>
  )
}

/** Returns the current usage of the limit that an open item is about, or null. Its details have that of the crossing. */
function useUsageOf(item: Told): string | null {
  const limit = useLimitOf(item)
  if (!limit || limit.used === null || item.state === 'resolved') return null
  return words.usage(quantity(limit, limit.used), quantity(limit, limit.allowed), limit.action === 'tell')
}

/** Further facts about the item. An open, unassigned item is the usual case, so that is not shown. */
function Meta({ item }: { item: Told }) {
  const isAsked = item.state === 'open' && (item.kind === 'approval' || item.kind === 'question')
  const asked = useQuery({ ...waitingQuery({}), enabled: isAsked }).data
  const expires = asked && [...asked.approvals, ...asked.questions].find(a => a.id === item.subject.id)?.expires_at
  const spent = useCostSoFar(item)
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-x-3 pl-6 text-soft text-xs">
      <span>{kindTable[item.kind].label}</span>
      <span title={words.raised(item.count)}>
        {item.count > 1 && `${words.times(item.count)}, ${words.last} `}
        <Age at={item.last_at} say="ago" />
      </span>
      {expires && (
        <span className="text-attention">
          {words.expires} <Age at={expires} />
        </span>
      )}
      {spent && <span className="text-danger">{words.costsSoFar(spent)}</span>}
      {item.state !== 'open' && <StateMark of={item} />}
      {item.assignee && (
        <bdi className="truncate" title={`${words.fields.assignee}: ${item.assignee.name}`}>
          {item.assignee.name}
        </bdi>
      )}
    </span>
  )
}
