import { useQuery } from '@tanstack/react-query'
import { inbox as inboxWords } from '../texts/inbox'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Select } from '../ui/Field'
import { Markdown } from '../ui/Markdown'
import { Menu } from '../ui/Menu'
import { SidePanel } from '../ui/SidePanel'
import { Answer } from '../ui/Views'
import { KindMark, SeverityMark, StateMark, SubjectLink } from './Bits'
import { History } from './History'
import type { Item } from './item'
import { oneQuery } from './queries'
import { Remedy } from './Remedy'
import { type ItemActions, useAssignees } from './useItemActions'

const words = inboxWords

/** An item beside the list, or over it on a phone. */
export function Panel({ id, verbs, onClose }: { id: string; verbs: ItemActions; onClose: () => void }) {
  const asked = useQuery(oneQuery(id))
  return (
    <SidePanel
      header={
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
      }
      label={words.one}
      onClose={onClose}
    >
      <Answer of={asked} what={words.oneWhat}>
        {item => (
          <div className="flex flex-col gap-4">
            <h2 className="wrap-anywhere font-semibold text-lg" tabIndex={-1}>
              <bdi>{item.title}</bdi>
            </h2>
            <Do item={item} verbs={verbs} />
            <Facts item={item} />
            <Assign item={item} verbs={verbs} />
            {item.resolution && <Resolution of={item.resolution} />}
            {item.detail ? <Markdown text={item.detail} /> : <p className="text-soft">{words.noDetail}</p>}
            <History id={item.id} />
          </div>
        )}
      </Answer>
    </SidePanel>
  )
}

/** The actions of an item, the most likely first. */
function Do({ item, verbs }: { item: Item; verbs: ItemActions }) {
  const over = item.state === 'resolved'
  return (
    <div className="flex flex-wrap gap-2">
      <Remedy item={item} />
      {!over && item.state !== 'acked' && (
        <Button icon="check" look="primary" onClick={() => verbs.act(item, { do: 'ack' })}>
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

function Facts({ item }: { item: Item }) {
  return (
    <dl className="grid grid-cols-[6rem_1fr] gap-x-3 gap-y-1.5">
      <dt className="text-soft">{words.fields.state}</dt>
      <dd>
        <StateMark of={item} />
      </dd>
      {item.subject.kind !== '' && (
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
      disabled={item.state === 'resolved'}
      label={words.fields.assignee ?? ''}
      onChange={e => {
        const to = people.find(p => p.id === e.target.value)
        verbs.act(item, { do: 'assign', to: to ? { id: to.id, name: to.name } : null })
      }}
      value={assignee?.id ?? ''}
    />
  )
}
