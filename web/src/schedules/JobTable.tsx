import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import * as clock from '../app/clock'
import { money, nanos, shortIn } from '../app/format'
import { useGatewayLacks } from '../app/gatewayLacks'
import { localTimes } from '../app/localTimes'
import { useAgentNames } from '../sessions/Bits'
import { limitsQuery } from '../spend/limitQueries'
import { texts } from '../texts'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Clock } from '../ui/Clock'
import { Face } from '../ui/Face'
import { plainText } from '../ui/plainText'
import { MenuButton, useSharedMenu } from '../ui/SharedMenu'
import { State } from '../ui/State'
import { Table, type TableColumn } from '../ui/Table'
import { sessionHref, TextLink } from '../ui/TextLink'
import { useJobActions } from './actions'
import { costPerMonth, costPerRun, isFailing, type Job, missedSlot, monthOf, timesText, zoneOf, zoneText } from './job'
import { costsQuery, lastRunQuery, slotsQuery } from './queries'
import { SlotDots, SlotLegend } from './SlotDots'
import { Switch } from './Switch'
import type { Go } from './search'

const words = scheduleTexts
const f = words.fields

interface Props {
  jobs: readonly Job[]
  opened: string | undefined
  go: Go
  onOpen: (id: string) => void
}

/** The jobs as a table. Cells whose data isn't in the list load it for each row. */
export function JobTable({ jobs, opened, go, onOpen }: Props) {
  const { turn, run, menu, may } = useJobActions(go)
  const [onMenu, shared] = useSharedMenu()
  // Beside schedules in other time zones, the next runs say that they are in the reader's.
  const foreign = jobs.some(j => zoneText(j.schedule) !== null)
  const all = useMemo<TableColumn<Job>[]>(
    () => [
      { id: 'name', label: f.name, width: 'minmax(12.5rem,2fr)', cell: j => <Name of={j} /> },
      { id: 'times', label: f.times, width: 'minmax(10rem,2fr)', card: 'plain', cell: j => <Times of={j} /> },
      { id: 'slots', label: f.slots, width: '13rem', card: 'line', cell: j => <SlotDots job={j} /> },
      { id: 'last', label: f.last, width: 'minmax(12.25rem,5fr)', card: 'line', cell: j => <LastResult job={j} /> },
      {
        id: 'next',
        label: foreign ? words.nextMine : f.next,
        cardLabel: f.next,
        width: '9.5rem',
        cell: j => <NextRun of={j} />,
      },
      { id: 'cost', label: f.cost, width: '8.75rem', cell: j => <Cost of={j} /> },
      {
        id: 'on',
        label: f.enabled,
        width: '3.5rem',
        card: 'head',
        cell: j => (
          <Switch disabled={!may} label={words.switchLabel(j.name)} on={j.enabled} onChange={on => turn(j, on)} />
        ),
      },
      {
        id: 'act',
        label: '',
        width: opened || !may ? '3rem' : '9.75rem',
        cell: j => (
          <span className="flex items-center gap-1">
            {may && !opened && <RunNow job={j} run={run} />}
            <MenuButton groups={() => menu(j)} label={words.actions(j.name)} onMenu={onMenu} />
          </span>
        ),
      },
    ],
    [may, opened, turn, run, menu, onMenu, foreign],
  )
  // Beside an open job there is room only for the essential columns.
  const columns = useMemo(() => (opened ? all.filter(c => beside.includes(c.id)) : all), [all, opened])
  return (
    <>
      <Legend jobs={jobs} />
      <Table
        columns={columns}
        height={72}
        idOf={idOf}
        label={texts.app.places.schedules}
        nameOf={j => j.name}
        onOpen={j => onOpen(j.id)}
        opened={j => j.id === opened}
        rows={jobs}
      />
      {shared}
    </>
  )
}

/** What the shapes of the slots mean, and what all jobs cost in a month. */
function Legend({ jobs }: { jobs: readonly Job[] }) {
  const groups = useQuery(costsQuery).data?.groups
  const month = groups && monthOf(jobs, groups)
  const limit = useQuery(limitsQuery).data?.limits.find(
    l => l.scope === 'all' && l.measure === 'usd' && l.window === 'month',
  )
  const above = month && limit && month.usd > (nanos(limit.allowed) ?? 0n)
  return (
    <div className="flex shrink-0 flex-wrap gap-x-4 gap-y-1 border-line border-b px-3 py-1.5 text-soft text-xs">
      {above && (
        <p className="-mx-3 -mt-1.5 flex basis-[calc(100%+1.5rem)] flex-wrap gap-x-3 bg-attention-tint px-3 py-1.5 text-attention">
          {words.allPerMonth(month.text)}, {words.aboveLimit(money(limit.allowed))}{' '}
          <Link className="underline" search={{ part: 'limits' }} to="/spend">
            {words.openLimits}
          </Link>
        </p>
      )}
      <SlotLegend />
      {month && !above && <span className="ml-auto">{words.allPerMonth(month.text)}</span>}
    </div>
  )
}

const idOf = (j: Job) => j.id
const beside = ['name', 'last', 'next', 'on', 'act']
const lines = 'flex min-w-0 max-w-full flex-col'
const second = 'truncate text-soft text-xs'

function Name({ of: j }: { of: Job }) {
  const agent = useAgentNames().get(j.agentId) || j.agentId
  return (
    <span className="flex min-w-0 items-center gap-2.5">
      <Face agent={j.agentId} name={agent} size="md" />
      <span className={lines}>
        <bdi className={`truncate font-medium ${j.enabled ? '' : 'text-soft'}`}>{j.name}</bdi>
        <bdi className={second}>{agent}</bdi>
      </span>
    </span>
  )
}

/** The schedule in words, with the expression as tooltip, and its time zone unless it is the local one. */
function Times({ of: { schedule: s } }: { of: Job }) {
  const text = timesText(s)
  return (
    <span className="line-clamp-3" title={[text, s.expr, s.tz].filter(Boolean).join('\n')}>
      <span className={text === s.expr ? 'key' : ''}>{text}</span>{' '}
      <bdi className="text-soft text-xs sm:block">{zoneText(s)}</bdi>
    </span>
  )
}

/** The result of the last run with its last words, or the slot that was missed since, and why. */
export function LastResult({ job, short = false }: { job: Job; short?: boolean }) {
  const s = job.state
  const slots = useQuery(slotsQuery(job)).data
  const ok = s.lastStatus === 'ok' && !short
  const run = useQuery({ ...lastRunQuery(job.id), enabled: ok }).data
  const missed = slots && missedSlot(job, slots, clock.now())
  const text = missed ? localTimes(missed.reason, missed.due_at) : s.lastStatus === 'ok' ? run?.summary : s.lastError
  if (!s.lastRunAt && !s.runningAt && !missed) return <span className="text-soft">{words.runs.none}</span>
  const at = s.runningAt ?? missed?.due_at ?? s.lastRunAt
  return (
    <span className={`${lines} w-full`}>
      <span className="flex flex-wrap items-baseline gap-x-1.5">
        {s.runningAt ? (
          <State tone="active">{words.runs.running}</State>
        ) : missed ? (
          <State icon="close" tone="danger">
            {words.runs.missed}
          </State>
        ) : (
          <RunMark of={s.lastStatus} />
        )}
        {at && (
          <span className="text-soft text-xs">
            {s.runningAt ? words.since : ''} <Age at={at} /> {s.runningAt ? '' : words.ago}
          </span>
        )}
        {!s.runningAt && !missed && !short && s.lastStatus === 'error' && <OpenRun job={job} />}
      </span>
      {text && !short && !s.runningAt && (
        <bdi className="wrap-anywhere line-clamp-2 text-soft text-xs" title={text}>
          {plainText(text)}
        </bdi>
      )}
    </span>
  )
}

/** A link to the transcript of the last run. */
function OpenRun({ job }: { job: Job }) {
  const key = useQuery(lastRunQuery(job.id)).data?.session_key
  if (!key) return null
  return (
    <TextLink className="text-accent text-xs hover:underline" href={sessionHref(key)}>
      {words.openRun}
    </TextLink>
  )
}

/** The result of a run. */
export function RunMark({ of }: { of: string }) {
  const tone = of === 'ok' ? 'done' : of === 'error' ? 'danger' : 'idle'
  return (
    <State tone={tone}>{{ ok: words.runs.ok, error: words.runs.error, skipped: words.runs.skipped }[of] ?? of}</State>
  )
}

/** The next run in the local time zone; the job's is in the tooltip. */
export function NextRun({ of: j }: { of: Job }) {
  const at = j.next_runs[0]?.at
  if (!at) return <span className="text-soft">{j.enabled ? words.state.unknown : words.off}</span>
  return (
    <span className={`${lines} whitespace-nowrap`}>
      <Clock at={at} zone={zoneOf(j.schedule)}>
        {shortIn(at)}
      </Clock>
      <Age at={at} className={second} />
    </span>
  )
}

/** The average cost of a run in the last 30 days, and what that is in a month. */
export function Cost({ of: j }: { of: Job }) {
  const asked = useQuery(costsQuery)
  if (!asked.data) return <span className="text-soft">{asked.error ? words.state.unknown : ''}</span>
  const share = asked.data.groups.find(g => g.key === j.id && !g.rest)
  // The job may be part of the combined rest.
  if (!share && asked.data.groups.some(g => g.rest)) return <span className="text-soft">{words.state.unknown}</span>
  const month = costPerMonth(share, j.next_runs)
  return (
    <span className={`${lines} whitespace-nowrap`} title={words.costNote}>
      <span>
        {costPerRun(share)} {share && <span className="text-soft text-xs">{words.perRun}</span>}
      </span>
      {month && <span className={second}>{words.perMonth(month)}</span>}
    </span>
  )
}

/** Starts the job, and is busy until the runtime has accepted it. */
export function RunNow({ job, run }: { job: Job; run: (job: Job) => Promise<unknown> }) {
  const [busy, setBusy] = useState(false)
  const lacks = useGatewayLacks()
  return (
    <Button
      aria-label={`${words.runNow}: ${job.name}`}
      busy={busy}
      disabled={job.state.runningAt !== null}
      icon="play"
      look={isFailing(job) ? 'primary' : 'plain'}
      not={lacks.jobs}
      onClick={() => {
        setBusy(true)
        void run(job).finally(() => setBusy(false))
      }}
    >
      {/* A row that is a card has little room. */}
      <span className="in-[[role=row]]:max-sm:hidden">{words.runNow}</span>
      <span className="hidden in-[[role=row]]:max-sm:inline">{words.run}</span>
    </Button>
  )
}
