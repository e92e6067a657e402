import { useQuery } from '@tanstack/react-query'
import type { RefObject } from 'react'
import { localTimes } from '../app/localTimes'
import { queries } from '../app/queries'
import { acting } from '../texts/acting'
import { inbox as inboxWords } from '../texts/inbox'
import { Age } from '../ui/Age'
import { Button, IconButton } from '../ui/Button'
import { AgentName } from '../ui/Face'
import { Select } from '../ui/Field'
import { Keys } from '../ui/Keys'
import { Markdown } from '../ui/Markdown'
import { Menu } from '../ui/Menu'
import { sessionHref, TextLink } from '../ui/TextLink'
import { Answer } from '../ui/Views'
import { AboutTask } from './AboutTask'
import { AskedOf } from './AskedOf'
import { KindMark, SeverityMark, StateMark, SubjectLink } from './Bits'
import { History } from './History'
import { ItemButtons } from './ItemButtons'
import { agentOf, type Item, taskOf } from './item'
import { kindTable } from './kinds'
import { oneQuery } from './queries'
import { errorOf } from './reason'
import { useCostSoFar } from './useCostSoFar'
import { type ItemActions, useAssignees } from './useItemActions'

const words = inboxWords
const isAsked = (item: Item) => item.kind === 'approval' || item.kind === 'question'

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
        {asked.data && <More item={asked.data} verbs={verbs} />}
      </header>
      <div className="grow overflow-y-auto px-4 py-3">
        <Answer of={asked} what={words.oneWhat}>
          {item => (
            <div className="flex max-w-3xl flex-col gap-4">
              <h2
                // The card of a request says it too.
                className={isAsked(item) ? 'sr-only' : 'wrap-anywhere font-semibold text-lg'}
                tabIndex={-1}
              >
                <bdi>
                  <Keys>{item.title}</Keys>
                </bdi>
              </h2>
              {isAsked(item) && <AskedOf item={item} />}
              <Buttons item={item} verbs={verbs} />
              {item.resolution && <Resolution of={item.resolution} />}
              {!isAsked(item) && <Story item={item} />}
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

/** The actions of an item, the primary one first, and a line on what a decision does. */
function Buttons({ item, verbs }: { item: Item; verbs: ItemActions }) {
  const decides = item.state !== 'resolved' && kindTable[item.kind].acts.includes('decide')
  return (
    <div className="flex flex-wrap items-center gap-2 empty:hidden">
      {/* A request is answered in its card. */}
      {!isAsked(item) && <ItemButtons main item={item} verbs={verbs} />}
      {item.state !== 'open' && (
        <Button icon="inbox" onClick={() => verbs.act(item, { do: 'reopen' })}>
          {words.reopen}
        </Button>
      )}
      {decides && <p className="basis-full text-soft text-xs">{acting.decide.means}</p>}
    </div>
  )
}

/** The menu with the other actions. */
const More = ({ item, verbs }: { item: Item; verbs: ItemActions }) => (
  <Menu groups={() => verbs.groups(item)} trigger={<IconButton icon="more" label={words.moreOf(item.title)} />} />
)

/** What happened. The first paragraph of a failure is its error. */
function Story({ item }: { item: Item }) {
  const [error, rest] = errorOf(item)
  return (
    <>
      {error && (
        <div className="rounded-md bg-danger-tint px-3 py-2">
          <Markdown text={error} />
        </div>
      )}
      {rest && <Markdown text={rest} />}
      {!item.detail && <p className="text-soft">{words.noDetail}</p>}
    </>
  )
}

function Facts({ item, verbs }: { item: Item; verbs: ItemActions }) {
  const spent = useCostSoFar(item)
  return (
    <dl className="grid grid-cols-[6rem_1fr] items-center gap-x-3 gap-y-1.5">
      <dt className="text-soft">{words.fields.state}</dt>
      <dd>
        <StateMark of={item} />
      </dd>
      {item.subject.kind !== '' && taskOf(item) === null && !isAsked(item) && (
        <>
          <dt className="text-soft">{words.fields.about}</dt>
          <dd className="flex min-w-0">
            <SubjectLink of={item} />
          </dd>
        </>
      )}
      {item.run?.session_key && !isAsked(item) && (
        <>
          <dt className="text-soft">{words.fields.run}</dt>
          <dd className="flex min-w-0">
            <RunLink session={item.run.session_key} />
          </dd>
        </>
      )}
      {spent && (
        <>
          <dt className="text-soft">{words.fields.cost}</dt>
          <dd className="text-danger">{words.costsSoFar(spent)}</dd>
        </>
      )}
      <dt className="text-soft">{words.fields.raised}</dt>
      <dd>
        {item.count > 1 && `${words.times(item.count)}, ${words.first} `}
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

/** The run that failed: its agent, and a link to its transcript. */
function RunLink({ session }: { session: string }) {
  const id = agentOf(session)
  const name = useQuery(queries.agents).data?.find(a => a.agent_id === id)?.name ?? id
  return (
    <TextLink className="flex min-w-0 text-accent leading-[24px] hover:underline" href={sessionHref(session)}>
      <AgentName id={id} name={name} />
    </TextLink>
  )
}

function Resolution({ of }: { of: NonNullable<Item['resolution']> }) {
  return (
    <div className="flex flex-col gap-1 rounded-md bg-active-tint px-3 py-2">
      <p className="font-medium text-active">
        {of.by.id === 'system' ? words.itself : <bdi>{words.resolvedBy(of.by.name)}</bdi>} ·{' '}
        <Age at={of.at} say="ago" />
      </p>
      {of.note && (
        <p className="wrap-anywhere">
          <bdi>{localTimes(of.note, of.at)}</bdi>
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
