import { useQuery } from '@tanstack/react-query'
import type { RefObject } from 'react'
import { inbox as inboxWords } from '../texts/inbox'
import { Age } from '../ui/Age'
import { Button, IconButton } from '../ui/Button'
import { Select } from '../ui/Field'
import { Markdown } from '../ui/Markdown'
import { Menu } from '../ui/Menu'
import { Answer } from '../ui/Views'
import { AboutTask } from './AboutTask'
import { KindMark, SeverityMark, StateMark, SubjectLink } from './Bits'
import { History } from './History'
import { ItemButtons } from './ItemButtons'
import { type Item, taskOf } from './item'
import { oneQuery } from './queries'
import { type ItemActions, useAssignees } from './useItemActions'

const words = inboxWords

interface Props {
  id: string
  verbs: ItemActions
  pane: RefObject<HTMLElement | null>
  /** Returns to the list. */
  onBack: () => void
  className: string
}

/** An item beside the list, or instead of it on a small screen. */
export function Detail({ id, verbs, pane, onBack, className }: Props) {
  const asked = useQuery(oneQuery(id))
  return (
    <aside
      ref={pane}
      aria-label={words.one}
      className={`min-w-0 grow flex-col overflow-hidden bg-ground outline-none ${className}`}
      onKeyDown={e => {
        if (e.key !== 'Escape' || e.defaultPrevented || e.nativeEvent.isComposing) return
        e.stopPropagation()
        onBack()
      }}
      tabIndex={-1}
    >
      <header className="flex h-10 shrink-0 items-center gap-2 border-line border-b px-2 lg:px-4">
        <IconButton className="lg:hidden" icon="left" label={words.back} onClick={onBack} />
        <span className="flex min-w-0 grow items-center gap-3">
          {asked.data ? (
            <>
              <SeverityMark of={asked.data.severity} />
              <span className="text-soft">
                <KindMark of={asked.data.kind} />
              </span>
            </>
          ) : (
            words.one
          )}
        </span>
      </header>
      <div className="grow overflow-y-auto px-4 py-3">
        <Answer of={asked} what={words.oneWhat}>
          {item => (
            <div className="flex max-w-3xl flex-col gap-4">
              <h2 className="wrap-anywhere font-semibold text-lg" tabIndex={-1}>
                <bdi>{item.title}</bdi>
              </h2>
              <Buttons item={item} verbs={verbs} />
              {item.resolution && <Resolution of={item.resolution} />}
              {item.detail ? <Markdown text={item.detail} /> : <p className="text-soft">{words.noDetail}</p>}
              <AboutTask task={taskOf(item)} />
              <Facts item={item} verbs={verbs} />
              <History id={item.id} />
            </div>
          )}
        </Answer>
      </div>
    </aside>
  )
}

/** The actions of an item, the primary one first. */
function Buttons({ item, verbs }: { item: Item; verbs: ItemActions }) {
  const over = item.state === 'resolved'
  return (
    <div className="flex flex-wrap gap-2">
      <ItemButtons main item={item} verbs={verbs} />
      {!over && item.state !== 'acked' && (
        <Button icon="eye" onClick={() => verbs.act(item, { do: 'ack' })}>
          {words.ack}
        </Button>
      )}
      {!over && (
        <Button icon="checks" onClick={() => verbs.resolve(item)}>
          {words.resolve}
        </Button>
      )}
      {!over && (
        <Menu
          align="start"
          groups={() => verbs.snoozeGroups(item)}
          trigger={<Button icon="clock">{words.snooze}</Button>}
        />
      )}
      {item.state !== 'open' && (
        <Button icon="inbox" onClick={() => verbs.act(item, { do: 'reopen' })}>
          {words.reopen}
        </Button>
      )}
    </div>
  )
}

function Facts({ item, verbs }: { item: Item; verbs: ItemActions }) {
  return (
    <dl className="grid grid-cols-[6rem_1fr] items-center gap-x-3 gap-y-1.5">
      <dt className="text-soft">{words.fields.state}</dt>
      <dd>
        <StateMark of={item} />
      </dd>
      {item.subject.kind !== '' && taskOf(item) === null && (
        <>
          <dt className="text-soft">{words.fields.about}</dt>
          <dd className="flex min-w-0">
            <SubjectLink long of={item} />
          </dd>
        </>
      )}
      <dt className="text-soft">{words.raised(item.count)}</dt>
      <dd>
        {item.count > 1 && `${words.first} `}
        <Age at={item.first_at} /> {words.ago}
        {item.count > 1 && (
          <>
            , {words.last} <Age at={item.last_at} /> {words.ago}
          </>
        )}
      </dd>
      <dt aria-hidden="true" className="text-soft">
        {words.fields.assignee}
      </dt>
      <dd>
        <Assign item={item} verbs={verbs} />
      </dd>
    </dl>
  )
}

function Resolution({ of }: { of: NonNullable<Item['resolution']> }) {
  return (
    <div className="flex flex-col gap-1 rounded-md bg-active-tint px-3 py-2">
      <p className="font-medium text-active">
        {of.by.id === 'system' ? words.itself : <bdi>{words.resolvedBy(of.by.name)}</bdi>} · <Age at={of.at} />
      </p>
      {of.note && (
        <p className="wrap-anywhere">
          <bdi>{of.note}</bdi>
        </p>
      )}
    </div>
  )
}

function Assign({ item, verbs }: { item: Item; verbs: ItemActions }) {
  const people = useAssignees()
  const { assignee } = item
  const others = assignee !== null && !people.some(p => p.id === assignee.id)
  return (
    <Select
      choices={[
        { value: '', label: words.nobody },
        ...(others ? [{ value: assignee.id, label: assignee.name }] : []),
        ...people.map(p => ({ value: p.id, label: p.mine ? words.me(p.name) : p.name })),
      ]}
      className="w-56"
      disabled={item.state === 'resolved'}
      hideLabel
      label={words.fields.assignee ?? ''}
      onChange={e => {
        const to = people.find(p => p.id === e.target.value)
        verbs.act(item, { do: 'assign', to: to ? { id: to.id, name: to.name } : null })
      }}
      value={assignee?.id ?? ''}
    />
  )
}
