import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { myZone } from '../app/format'
import { rereadSoon } from '../app/live/patches'
import { leads, queries, useMe } from '../app/queries'
import { texts } from '../texts'
import { now as nowWords } from '../texts/now'
import { Button, IconButton } from '../ui/Button'
import { Clock } from '../ui/Clock'
import { saveCsv } from '../ui/csv'
import { Scroller } from '../ui/Scroller'
import { type Look, State } from '../ui/State'
import { say, sayFailed } from '../ui/toast'
import { Answer, Partial } from '../ui/Views'
import { Card, Nothing } from './Card'
import { mostSlots, runsQuery, slotsQuery } from './queries'
import { clock, clocks } from './time'
import {
  counts,
  hourOf,
  isTrouble,
  type Mark,
  madeUp,
  marks,
  marksOf,
  type Runs,
  reach,
  type Seen,
  type Shown,
  type Slot,
  troublesOf,
  within,
} from './timelineSlots'

const words = nowWords.runs

const look: Record<Shown, Look> = {
  missed: { tone: 'danger', icon: 'blocked' },
  failed: { tone: 'danger', icon: 'error' },
  late: { tone: 'attention', icon: 'clock' },
  unknown: { tone: 'idle', icon: 'off' },
  running: { tone: 'active', icon: 'pulse' },
  made_up: { tone: 'active', icon: 'check' },
  skipped: { tone: 'idle', icon: 'sleep' },
  on_time: { tone: 'active', icon: 'check' },
  pending: { tone: 'idle', icon: 'schedules' },
}

const SlotMark = ({ of, n }: { of: Shown; n?: number }) => (
  <State {...look[of]}>{n === undefined ? words.state[of] : words.counts(n, words.state[of])}</State>
)

interface Props {
  className: string
  table: boolean
  onTable: (table: boolean) => void
}

/** The scheduled runs around now, as marks on a timeline or as a table. */
export function Timeline({ className, table, onTable }: Props) {
  const hour = useTicking(hourOf)
  const asked = useQuery(slotsQuery(hour))
  // Updates every minute, which is as fine as the timeline shows.
  const now = useTicking(at => Math.floor(at / 60_000) * 60_000)
  const slots = useMadeUp(within(asked.data?.slots ?? [], now))
  const beside = slots.length > 0 && (
    <>
      <IconButton
        aria-pressed={table}
        className={table ? 'bg-accent-tint text-accent!' : ''}
        icon="table"
        label={words.table}
        onClick={() => onTable(!table)}
      />
      {table && <IconButton icon="down" label={words.csv} onClick={() => save(slots)} />}
    </>
  )
  return (
    <Card
      beside={beside}
      className={className}
      title={words.title}
      to={{ path: '/schedules', label: texts.app.places.schedules }}
    >
      <Answer of={asked} rows={2} what={words.what}>
        {data => (
          <>
            {data.cut && <Partial>{words.cut(mostSlots)}</Partial>}
            {slots.length === 0 ? (
              <NoRuns />
            ) : (
              <>
                <Marks now={now} slots={slots} />
                <Troubles slots={slots} />
                {table && <SlotTable slots={slots} />}
              </>
            )}
          </>
        )}
      </Answer>
    </Card>
  )
}

/** Maximum number of failing jobs to check for a later success. */
const mostAsked = 20

/** Returns the slots, with failed ones marked as recovered if the job succeeded later. */
function useMadeUp(slots: readonly Slot[]): Seen[] {
  const jobs = [...new Set(slots.filter(isTrouble).map(s => s.job_id))].slice(-mostAsked)
  const asked = useQueries({ queries: jobs.map(runsQuery) })
  const runs = new Map<string, Runs>(jobs.map((job, i) => [job, asked[i]?.data ?? []]))
  return madeUp(slots, runs)
}

function NoRuns() {
  const gateway = useQuery(queries.gateway).data
  if (gateway?.state === 'not_configured') return <Nothing title={words.unset}>{words.noneHelp}</Nothing>
  const known = gateway === undefined || gateway.state === 'connected'
  return <Nothing title={known ? words.none : words.away}>{words.noneHelp}</Nothing>
}

const fills: Record<Shown, string> = {
  missed: 'fill-danger',
  failed: 'fill-danger',
  late: 'fill-attention',
  unknown: 'fill-idle',
  running: 'fill-active',
  made_up: 'fill-attention',
  skipped: 'fill-idle',
  on_time: 'fill-active',
  pending: 'fill-transparent stroke-line-strong',
}
/** Heights of the marks: problems are taller, so that color isn't needed to see them. */
const heights: Partial<Record<Shown, number>> = {
  missed: 40,
  failed: 40,
  late: 28,
  running: 28,
  made_up: 28,
  unknown: 12,
  skipped: 12,
}
const usual = 20

const titleOf = (m: Mark, service: string | undefined) =>
  m.slots
    .slice(0, 8)
    .map(s => `${clocks(s.due_at, service)} ${s.name}: ${words.state[s.state]}`)
    .join('\n') + (m.slots.length > 8 ? `\n+ ${m.slots.length - 8}` : '')

function Marks({ slots, now }: { slots: readonly Seen[]; now: number }) {
  const zone = useZone()
  const width = 1000 / marks
  const sums = counts(slots)
  const said = sums.map(s => words.counts(s.n, words.state[s.state])).join(', ')
  const hours = [-12, -6, 0, 6, 12]
  return (
    <div className="px-3 pt-3 pb-2">
      <svg
        aria-label={`${words.title}, ${words.range}: ${said}`}
        className="h-11 w-full"
        preserveAspectRatio="none"
        role="img"
        viewBox="0 0 1000 44"
      >
        <rect className="fill-hover" height="1" width="1000" y="43" />
        {marksOf(slots, now).map(m => {
          const height = heights[m.worst] ?? usual
          return (
            <rect
              key={m.at}
              className={fills[m.worst]}
              height={height}
              vectorEffect="non-scaling-stroke"
              width={width - 2}
              x={m.at * width + 1}
              y={43 - height}
            >
              <title>{titleOf(m, zone)}</title>
            </rect>
          )
        })}
        <line
          className="stroke-accent"
          strokeWidth="1.5"
          vectorEffect="non-scaling-stroke"
          x1="500"
          x2="500"
          y1="0"
          y2="44"
        />
      </svg>
      <p aria-hidden="true" className="flex justify-between text-soft text-xs" title={myZone()}>
        {hours.map(h => (
          <span key={h} className={h === 0 ? 'text-accent' : ''}>
            {h === 0 ? words.now : clock(now + (h / 12) * reach, undefined)}
          </span>
        ))}
      </p>
      <p className="mt-1.5 flex flex-wrap gap-x-4 gap-y-0.5 text-xs">
        {sums.map(s => (
          <SlotMark key={s.state} n={s.n} of={s.state} />
        ))}
      </p>
    </div>
  )
}

const mostTroubles = 3

/** The latest failed or missed runs, each with its reason and a Run now button. */
function Troubles({ slots }: { slots: readonly Seen[] }) {
  const list = troublesOf(slots).slice(0, mostTroubles)
  if (list.length === 0) return null
  return (
    <ul className="border-line border-t">
      {list.map(s => (
        <li key={s.job_id} className="flex min-h-8 items-center gap-3 px-3 py-1">
          <span className="flex min-w-0 grow flex-wrap items-center gap-x-3">
            <SlotMark of={s.state} />
            <Clock at={s.due_at} className="text-soft">
              {clock(s.due_at, undefined)}
            </Clock>
            <bdi className="font-medium">{s.name}</bdi>
            <bdi className="wrap-anywhere min-w-0 text-soft">
              {s.made_up_at ? words.succeeded(clock(s.made_up_at, undefined)) : s.reason}
            </bdi>
          </span>
          {!s.made_up_at && <RunNow slot={s} />}
        </li>
      ))}
    </ul>
  )
}

/** The Run now button of a slot. Hidden from users who may not run jobs. */
function RunNow({ slot }: { slot: Seen }) {
  const cache = useQueryClient()
  const me = useMe().data
  const run = useMutation({
    mutationFn: () => take(api.POST('/api/v1/agentrt/jobs/{id}/run', { params: { path: { id: slot.job_id } } })),
    onSuccess: () => {
      say(words.started(slot.name))
      rereadSoon(cache, ['now', 'slots'])
    },
    onError: err => sayFailed(err),
  })
  if (!leads(me)) return null
  return (
    <Button aria-label={words.runNowOf(slot.name)} busy={run.isPending} icon="reload" onClick={() => run.mutate()}>
      {words.runNow}
    </Button>
  )
}

const heads = [words.due, words.job, words.agent, words.stateHead, words.reason]

function SlotTable({ slots }: { slots: readonly Seen[] }) {
  return (
    <Scroller className="max-h-80 border-line border-t" label={words.table}>
      <table className="w-full text-left">
        <thead className="sticky top-0 bg-panel text-soft text-xs">
          <tr>
            {heads.map(h => (
              <th key={h} className="px-3 py-1.5 font-medium" scope="col">
                {h}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {slots.map(s => (
            <tr key={`${s.job_id} ${s.due_at}`} className="border-line border-t">
              <td className="px-3 py-1 whitespace-nowrap">
                <Clock at={s.due_at}>{clock(s.due_at, undefined, 'weekday')}</Clock>
              </td>
              <td className="wrap-anywhere px-3 py-1">
                <bdi>{s.name}</bdi>
              </td>
              <td className="px-3 py-1">
                <bdi>{s.agent_id}</bdi>
              </td>
              <td className="px-3 py-1">
                <SlotMark of={s.state} />
              </td>
              <td className="wrap-anywhere px-3 py-1 text-soft">
                <bdi>{s.made_up_at ? words.succeeded(clock(s.made_up_at, undefined)) : s.reason}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  )
}

const save = (slots: readonly Seen[]) =>
  saveCsv('scheduled-runs.csv', [
    ['due_at', 'job_id', 'job', 'agent_id', 'state', 'reason', 'started_at'],
    ...slots.map(s => [s.due_at, s.job_id, s.name, s.agent_id, s.state, s.reason, s.started_at ?? '']),
  ])
