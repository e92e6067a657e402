import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { myZone } from '../app/format'
import { texts } from '../texts'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Age } from '../ui/Age'
import { MenuButton, useSharedMenu } from '../ui/SharedMenu'
import { State } from '../ui/State'
import { Table, type TableColumn } from '../ui/Table'
import { useJobActions } from './actions'
import { costPerRun, type Job, timesText, zoneOf } from './job'
import { costsQuery } from './queries'
import { SlotDots } from './SlotDots'
import { AgentName } from './Small'
import { Switch } from './Switch'
import type { Go } from './search'
import { shortIn } from './times'

const words = scheduleTexts
const f = words.fields

interface Props {
  jobs: readonly Job[]
  opened: string | undefined
  go: Go
  onOpen: (id: string) => void
}

/** The jobs as a table, by next run. */
export function JobTable({ jobs, opened, go, onOpen }: Props) {
  const { turn, menu, may } = useJobActions(go)
  const [onMenu, shared] = useSharedMenu()
  // Flexible widths grow in proportion to their minimum, so that the header stays aligned with the rows when both
  // scroll.
  const all = useMemo<TableColumn<Job>[]>(
    () => [
      {
        id: 'name',
        label: f.name,
        width: 'minmax(10rem,3fr)',
        cell: j => <bdi className={`font-medium ${j.enabled ? '' : 'text-soft'}`}>{j.name}</bdi>,
      },
      { id: 'slots', label: f.slots, width: '12rem', card: 'line', cell: j => <SlotDots job={j} /> },
      { id: 'last', label: f.last, width: '12rem', card: 'plain', cell: j => <LastRun job={j} /> },
      {
        id: 'next',
        label: f.next,
        width: '10rem',
        card: 'none',
        cell: j => <NextRun job={j} zone={zoneOf(j.schedule)} />,
      },
      { id: 'mine', label: f.nextMine, width: '14.75rem', cell: j => <NextRun age job={j} zone={myZone()} /> },
      {
        id: 'agent',
        label: f.agent,
        width: '6rem',
        card: 'plain',
        cell: j => <AgentName id={j.agentId} />,
      },
      {
        id: 'times',
        label: f.times,
        width: 'minmax(13rem,3fr)',
        card: 'plain',
        cell: j => <Times of={j.schedule} />,
      },
      { id: 'cost', label: f.cost, width: '6.25rem', cell: j => <Cost id={j.id} /> },
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
        id: 'menu',
        label: '',
        width: '3rem',
        cell: j => <MenuButton groups={() => menu(j)} label={words.actions(j.name)} onMenu={onMenu} />,
      },
    ],
    [may, turn, menu, onMenu],
  )
  // Beside an open job there is room only for the essential columns.
  const columns = useMemo(() => (opened ? all.filter(c => beside.includes(c.id)) : all), [all, opened])
  return (
    <>
      <Table
        columns={columns}
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

/** The schedule in words, with the expression as tooltip, or the expression where words would be less exact. */
function Times({ of: s }: { of: Job['schedule'] }) {
  const text = timesText(s)
  return (
    <span className="min-w-0 truncate" title={[text, s.expr, s.tz].filter(Boolean).join('\n')}>
      <span className={text === s.expr ? 'key' : ''}>{text}</span>
      {s.kind === 'cron' && <bdi className="text-soft text-xs"> {zoneOf(s)}</bdi>}
    </span>
  )
}

const idOf = (j: Job) => j.id
const beside = ['name', 'slots', 'next', 'on', 'menu']

/** The result of the last run, or that it is running. */
export function LastRun({ job }: { job: Job }) {
  const s = job.state
  if (s.runningAt) {
    return (
      <span className="inline-flex items-center gap-1.5">
        <State tone="active">{words.runs.running}</State>
        <Age at={s.runningAt} className="text-soft text-xs" />
      </span>
    )
  }
  if (!s.lastRunAt) return <span className="text-soft">{words.runs.none}</span>
  const tone = s.lastStatus === 'ok' ? 'active' : s.lastStatus === 'error' ? 'danger' : 'idle'
  const word = { ok: words.runs.ok, error: words.runs.error, skipped: words.runs.skipped }[s.lastStatus] ?? s.lastStatus
  return (
    <span className="inline-flex items-center gap-1.5">
      <State icon={tone === 'active' ? 'check' : tone === 'danger' ? 'error' : 'sleep'} title={s.lastError} tone={tone}>
        {word}
      </State>
      <Age at={s.lastRunAt} className="text-soft text-xs" />
    </span>
  )
}

function NextRun({ job, zone, age = false }: { job: Job; zone: string; age?: boolean }) {
  const at = job.next_runs[0]?.at
  if (!at) return <span className="text-soft">{job.enabled ? words.state.unknown : words.off}</span>
  return (
    <span className="flex min-w-0 items-baseline gap-1.5 whitespace-nowrap" title={zone}>
      {shortIn(at, zone)}
      {age && <Age at={at} className="text-soft text-xs" />}
    </span>
  )
}

/** The average cost of a run in the last 30 days. */
export function Cost({ id }: { id: string }) {
  const asked = useQuery(costsQuery)
  if (!asked.data) return <span className="text-soft">{asked.error ? words.state.unknown : ''}</span>
  const share = asked.data.groups.find(g => g.key === id && !g.rest)
  // The job may be part of the combined rest.
  const hidden = !share && asked.data.groups.some(g => g.rest)
  return (
    <span className="whitespace-nowrap" title={words.costNote}>
      {hidden ? words.state.unknown : costPerRun(share)}
    </span>
  )
}
