import { inbox as inboxWords } from '../texts/inbox'
import { Age } from '../ui/Age'
import { Icon } from '../ui/Icon'
import { MenuButton, type OpenMenu } from '../ui/SharedMenu'
import { SeverityMark, StateMark, SubjectLink } from './Bits'
import { ItemButtons } from './ItemButtons'
import type { Told } from './item'
import { kindTable } from './kinds'
import { reasonOf } from './reason'
import type { ItemActions } from './useItemActions'

const words = inboxWords

interface Props {
  item: Told
  opened: boolean
  /** Whether the severity is not shown above the row. */
  showSeverity: boolean
  verbs: ItemActions
  onOpen: (id: string) => void
  onMenu: OpenMenu
  onFocus: () => void
}

/** An item in the list: its title, the reason in one line, facts, and buttons. */
export function ItemRow({ item, opened, showSeverity, verbs, onOpen, onMenu, onFocus }: Props) {
  const reason = reasonOf(item)
  return (
    <li
      className={`relative flex flex-col gap-x-4 gap-y-2 border-line border-b px-3 py-2.5 @3xl:flex-row @3xl:items-center ${opened ? 'lg:bg-accent-tint' : 'hover:bg-hover'}`}
      onFocus={onFocus}
    >
      <div className="flex min-w-0 grow flex-col gap-0.5">
        <button
          aria-current={opened || undefined}
          className="flex min-h-[24px] min-w-0 items-start gap-2 text-left font-medium after:absolute after:inset-0 hover:underline"
          data-item={item.id}
          onClick={() => onOpen(item.id)}
          title={item.title}
          type="button"
        >
          <Icon className="mt-0.5 text-soft" name={kindTable[item.kind].icon} />
          <bdi className="wrap-anywhere line-clamp-2 leading-snug">{item.title}</bdi>
        </button>
        {reason && (
          <p className="truncate pl-6 text-soft" title={reason}>
            <bdi>{reason}</bdi>
          </p>
        )}
        <Meta item={item} showSeverity={showSeverity} />
      </div>
      <span className="relative flex shrink-0 flex-wrap items-center gap-2 pl-6 @3xl:pl-0">
        <ItemButtons item={item} verbs={verbs} />
        <span className="ml-auto">
          <MenuButton groups={() => verbs.groups(item)} label={words.moreOf(item.title)} onMenu={onMenu} />
        </span>
      </span>
    </li>
  )
}

/** Further facts about the item. An open, unassigned item is the usual case, so that is not shown. */
function Meta({ item, showSeverity }: { item: Told; showSeverity: boolean }) {
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-x-3 pl-6 text-soft text-xs">
      {showSeverity && <SeverityMark of={item.severity} />}
      <span>{kindTable[item.kind].label}</span>
      <span className="relative min-w-0">
        <SubjectLink of={item} />
      </span>
      {item.state !== 'open' && <StateMark of={item} />}
      {item.assignee && (
        <bdi className="truncate" title={`${words.fields.assignee}: ${item.assignee.name}`}>
          {item.assignee.name}
        </bdi>
      )}
      <span title={words.raised(item.count)}>
        {item.count > 1 && `${words.times(item.count)} `}
        <Age at={item.first_at} /> {words.ago}
      </span>
    </span>
  )
}
