import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { money, nanos, usd } from '../app/format'
import { AnswerRequest } from '../approvals/AnswerAgent'
import { waitingQuery } from '../approvals/queries'
import type { Asked } from '../approvals/useWaiting'
import { useRepeatingSessions } from '../inbox/useRepeating'
import { approvals } from '../texts/approvals'
import { sessions as sessionsWords } from '../texts/sessions'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Face } from '../ui/Face'
import { Flash } from '../ui/Flash'
import { Gauge } from '../ui/Gauge'
import { Heads } from '../ui/Heads'
import { Icon } from '../ui/Icon'
import { State } from '../ui/State'
import { EndMark, modelName, StandingMark, StartedBy } from './Bits'
import { canonical } from './liveSessions'
import { type Archived, type Item, lastWords, type Session, standing } from './session'
import { useCost } from './useCost'
import type { ListNames } from './useListNames'

const words = sessionsWords

interface Props<T> {
  of: T
  /** The key or ID in the address of the session's page. */
  to: string
  names: ListNames
}

/** A part of the context window above which a session shows it. */
const fullContext = 0.8
const columns = 'gap-x-3 px-3 md:grid-cols-[1.5rem_minmax(0,1fr)_minmax(9rem,14rem)_6rem_8rem]'
const grid = `grid h-full grid-cols-[auto_minmax(0,1fr)_auto] items-center border-line border-b hover:bg-hover ${columns}`

/** The column heads of the rows. */
export const SessionHeads = () => (
  <Heads grid={`shrink-0 border-line border-b pt-1.5 md:grid max-md:hidden ${columns}`} numbers={2} of={words.heads} />
)

/** A session's name, which links to its page. */
function Title({ of: s, to, names, className }: Props<Session | Archived> & { className: string }) {
  const name = names.nameOf(s)
  return (
    <Link
      className={`block min-w-0 truncate hover:underline ${className}`}
      params={{ key: to }}
      preload={false}
      title={[name, modelName(s.model)].join(' · ')}
      to="/sessions/$key"
    >
      <bdi>{name}</bdi>
    </Link>
  )
}

/** An active session: what it works on, for how long, its cost so far, and how to stop it. */
export function ActiveRow({ of: s, to, names, onStop }: Props<Session> & { onStop: (() => void) | null }) {
  const repeats = useRepeatingSessions().get(s.key)
  const waits = useWaits(s.key)
  const since = waits?.since ?? s.started_at
  return (
    <Row
      act={
        waits ? (
          <AnswerRequest asked={waits} name={names.nameOf(s)} />
        ) : (
          onStop && (
            <Button
              aria-label={words.stopNamed(names.nameOf(s))}
              className="max-md:[&>svg]:hidden"
              icon="stop"
              look={repeats === undefined ? 'plain' : 'alarm'}
              onClick={onStop}
            >
              <span className="md:hidden">{words.stopBrief}</span>
              <span className="max-md:hidden">{words.stopShort}</span>
            </Button>
          )
        )
      }
      agent={s.agent_id}
      needs={waits !== null || repeats !== undefined}
      className="bg-panel"
      cost={<Cost of={s} />}
      last={repeats || lastWords(s)}
      mark={<Needs of={s} repeats={repeats !== undefined} waits={waits && approvals.waitsFor[waits.kind]} />}
      names={names}
      started={<StartedBy find={names.find} of={s} />}
      when={
        standing(s) === 'stalled' ? (
          <StandingMark of={s} />
        ) : (
          <State
            tone={waits ? 'attention' : repeats === undefined ? 'active' : 'danger'}
            {...(waits ? { icon: 'clock' as const } : {})}
          >
            <span className="sr-only">{words.standing.active}</span>
            <span>
              <span className="max-md:hidden">{waits ? words.waiting : words.running} </span>
              {since && <Age at={since} className="tabular-nums" />}
            </span>
          </State>
        )
      }
    >
      <Title className="font-medium" names={names} of={s} to={to} />
    </Row>
  )
}

/** What the session needs a person for; otherwise how full its context is. */
function Needs({ of: s, waits, repeats }: { of: Session; waits: string | null; repeats: boolean }) {
  if (!waits && !repeats) return <Context of={s} />
  return (
    <State icon={waits ? 'clock' : 'reload'} tone={waits ? 'attention' : 'danger'}>
      {waits ?? approvals.repeating}
    </State>
  )
}

/** Returns the request of the session that a person must answer, and when it was made; null if there is none. */
function useWaits(key: string): (Pick<Asked, 'kind' | 'id'> & { since: string }) | null {
  const asked = useQuery(waitingQuery({})).data
  const isIts = (r: { session_key: string | null }) => r.session_key !== null && canonical(r.session_key) === key
  const approval = asked?.approvals.find(isIts)
  const request = approval ?? asked?.questions.find(isIts)
  return request ? { kind: approval ? 'approval' : 'question', id: request.id, since: request.created_at } : null
}

/** The cost; a dash until the first step is counted. */
function Cost({ of: s }: { of: Session | Archived }) {
  const cost = useCost(s)
  return (
    <Flash of={cost}>
      <span title={cost === words.counting ? words.notCounted : undefined}>{cost}</span>
    </Flash>
  )
}

/** How full the context is, where that matters. */
function Context({ of: s }: { of: Session | Archived }) {
  if (!('context_limit' in s) || !s.context_limit || (s.context_tokens ?? 0) / s.context_limit < fullContext)
    return null
  return (
    <span className="inline-flex shrink-0 items-center gap-1.5 text-attention text-xs" title={words.contextHelp}>
      {words.fields.context} <Gauge label={words.fields.context} of={s.context_limit} value={s.context_tokens} />
    </span>
  )
}

/** How a session ended, unless it went well. */
function Mark({ of: s }: { of: Session | Archived }) {
  const well = standing(s) === 'rests'
  if ('ended' in s) return well && s.ended !== 'deleted' && s.ended !== 'reset' ? null : <EndMark of={s} />
  return well ? <Context of={s} /> : <StandingMark of={s} />
}

const atOf = (s: Session | Archived) => ('last_at' in s ? s.last_at : s.updated_at)

/** A session that is not active: its last words, what started it, how it ended, its cost, and when. */
export function SessionRow({ of: s, to, names, inJob }: Props<Session | Archived> & { inJob: boolean }) {
  const last = lastWords(s)
  return (
    <Row
      agent={s.agent_id}
      className={inJob ? 'pl-10' : ''}
      cost={<Cost of={s} />}
      last={last}
      mark={<Mark of={s} />}
      names={names}
      started={<StartedBy find={names.find} of={s} />}
      when={<Ago at={atOf(s)} />}
    >
      <Title className="font-medium" names={names} of={s} to={to} />
    </Row>
  )
}

/** The runs of a job on one day as one row, which shows them. */
export function JobRow<T extends Session | Archived>({
  item,
  names,
  onToggle,
}: {
  item: Extract<Item<T>, { type: 'job' }>
  names: ListNames
  onToggle: () => void
}) {
  const [newest] = item.rows
  if (!newest) return null
  const bad = item.rows.filter(r => !/^(rests|active)$/.test(standing(r))).length
  const costs = item.rows.flatMap(r => nanos(r.cost_usd) ?? [])
  const all = costs.length === item.rows.length
  return (
    <Row
      agent={newest.agent_id}
      cost={all ? money(usd(costs.reduce((a, b) => a + b, 0n))) : words.counting}
      last={lastWords(newest)}
      mark={bad > 0 && <State tone="danger">{words.failedRuns(bad)}</State>}
      names={names}
      started={<StartedBy find={names.find} of={newest} />}
      when={<Ago at={atOf(newest)} />}
    >
      <button
        aria-expanded={item.open}
        className="flex max-w-full min-w-0 items-center gap-1 font-medium hover:underline"
        onClick={onToggle}
        type="button"
      >
        <bdi className="truncate">{names.nameOf(newest)}</bdi>
        <span className="shrink-0 rounded-sm bg-hover px-1.5 font-normal text-soft text-xs">
          {words.runs(item.rows.length)}
        </span>
        <Icon className="text-soft" name={item.open ? 'chevron' : 'right'} />
      </button>
    </Row>
  )
}

interface RowProps {
  agent: string
  names: ListNames
  last: string
  started: ReactNode
  mark: ReactNode
  cost: ReactNode
  /** When it was last active, or for how long it has been. */
  when: ReactNode
  /** What can be done, after the name. */
  act?: ReactNode
  /** Whether the mark says what the session needs a person for. */
  needs?: boolean
  className?: string
  children: ReactNode
}

const Ago = ({ at }: { at: string | null }) =>
  at && (
    <span className="text-soft">
      <Age at={at} /> {words.ago}
    </span>
  )

function Row({
  agent,
  names,
  last,
  started,
  mark,
  cost,
  when,
  act,
  needs = false,
  className = '',
  children,
}: RowProps) {
  const name = agent ? names.agent(agent) : words.noAgent
  return (
    <div className={`${grid} ${className}`}>
      <span className="max-md:row-span-2 max-md:self-start max-md:pt-2.5">
        <Face agent={agent} name={name} size="md" />
      </span>
      {/* On a phone, the button is below the cost. */}
      <div className="flex min-w-0 items-center gap-2 max-md:contents">
        <div className="min-w-0 grow max-md:row-span-2">
          <div className="flex min-w-0 items-center gap-2">
            {children}
            <span className="shrink-0 max-md:hidden">{mark}</span>
          </div>
          <p className="truncate text-soft text-xs max-md:line-clamp-2 max-md:whitespace-normal" title={last}>
            <bdi>{last || words.noWords}</bdi>
          </p>
          <p className="flex min-w-0 items-center gap-2 text-xs md:hidden">
            <bdi className="shrink-0">{name}</bdi>
            <span className="min-w-0 truncate">{mark}</span>
            {!needs && <span className="min-w-0 truncate">{started}</span>}
          </p>
        </div>
        {act && <div className="max-md:col-start-3 max-md:row-start-2 max-md:justify-self-end">{act}</div>}
      </div>
      <div className="min-w-0 max-md:hidden">
        <p className="truncate">
          <bdi>{name}</bdi>
        </p>
        {/* As tall as the links in it, which are touch targets, without moving the name. */}
        <p className="-my-1 flex h-6 min-w-0 items-center text-soft text-xs">{started}</p>
      </div>
      <span className="truncate text-right tabular-nums max-md:hidden">{cost}</span>
      <span
        className={`min-w-18 whitespace-nowrap text-right text-xs md:hidden max-md:col-start-3 max-md:row-start-1 ${act ? '' : 'max-md:row-span-2'}`}
      >
        {when}
        <br />
        {cost}
      </span>
      <span className="whitespace-nowrap text-right max-md:hidden">{when}</span>
    </div>
  )
}
