import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { cost } from '../app/format'
import { texts } from '../texts'
import { agents as agentTexts } from '../texts/agents'
import { Age } from '../ui/Age'
import { AgentName } from '../ui/Face'
import { Badge } from '../ui/State'
import { Table, type TableColumn } from '../ui/Table'
import { sessionHref, standupHref, TextLink } from '../ui/TextLink'
import { type Agent, type AgentDetails, openTasks } from './agent'
import { AnswerMark, PresenceMark } from './Bits'
import { MessageLink } from './MessageLink'
import { oneQuery, useLed } from './queries'
import { RunName } from './RunName'

const words = agentTexts
const f = words.fields

/** The agents as a table. Cells whose data isn't in the list load the agent's details. */
export function AgentTable({ agents, onOpen }: { agents: readonly Agent[]; onOpen: (id: string) => void }) {
  // Flexible widths grow in proportion to their minimum, so that the header stays aligned with the rows when both
  // scroll.
  const columns = useMemo<TableColumn<Agent>[]>(
    () => [
      {
        id: 'agent',
        label: f.agent,
        width: 'minmax(9rem,1fr)',
        cell: a => (
          <span className="flex min-w-0 items-center gap-2">
            <AgentName className="font-medium" id={a.agent_id} name={a.name} />
            <span className="key text-soft">{a.agent_id}</span>
          </span>
        ),
      },
      { id: 'presence', label: f.presence, width: '9rem', card: 'head', cell: a => <PresenceMark of={a} /> },
      { id: 'message', label: f.message, width: '5rem', card: 'head', cell: a => <MessageLink small to={a} /> },
      {
        id: 'now',
        label: f.now,
        width: 'minmax(13.5rem,1.5fr)',
        cell: a => <Part of={Now} id={a.agent_id} />,
      },
      { id: 'tasks', label: f.tasks, width: '16.5rem', card: 'plain', cell: a => <Part of={Tasks} id={a.agent_id} /> },
      { id: 'standup', label: f.standup, width: '13.5rem', cell: a => <Part of={Standup} id={a.agent_id} /> },
      { id: 'today', label: f.today, width: '7.5rem', cell: a => <Part of={Today} id={a.agent_id} /> },
      {
        id: 'model',
        label: f.model,
        width: 'minmax(9rem,1fr)',
        card: 'none',
        cell: a => (
          <bdi className="key truncate text-soft" title={a.model ?? ''}>
            {a.model ?? words.unknown}
          </bdi>
        ),
      },
    ],
    [],
  )
  return (
    <Table
      columns={columns}
      idOf={idOf}
      label={texts.app.places.agents}
      nameOf={a => a.name}
      onOpen={a => onOpen(a.agent_id)}
      rows={agents}
    />
  )
}

const idOf = (a: Agent) => a.agent_id

/** A cell that needs the agent's details. */
function Part({ id, of: Cell }: { id: string; of: (p: { page: AgentDetails }) => React.ReactNode }) {
  const asked = useQuery(oneQuery(id))
  if (asked.data) return <Cell page={asked.data} />
  return asked.error ? <span className="text-soft">{words.unknown}</span> : <span className="skeleton h-3 w-16" />
}

function Now({ page }: { page: AgentDetails }) {
  const run = page.runs?.[0]
  if (page.runs === null) return <span className="text-soft">{words.unknown}</span>
  if (!run) return <span className="text-soft">{words.nothing}</span>
  return (
    <span className="flex min-w-0 items-center gap-1.5">
      <TextLink
        className="min-w-0 truncate hover:underline"
        href={sessionHref(run.session_key)}
        title={run.session_key}
      >
        <RunName of={run.session_key} page={page} />
      </TextLink>
      {run.since && <Age at={run.since} className="text-soft text-xs" />}
      {run.stalled && <Badge tone="attention">{words.stalledRun}</Badge>}
    </span>
  )
}

function Tasks({ page }: { page: AgentDetails }) {
  const open = openTasks(page.tasks)
  if (open === 0) return <span className="text-soft">{words.noTasks}</span>
  return (
    <span className="flex items-center gap-1.5 whitespace-nowrap">
      {words.inProgress(page.tasks.open.in_progress)}
      <span className="text-soft">{words.openTasks(open)}</span>
      {page.tasks.blocked > 0 && (
        <Badge icon="blocked" tone="danger">
          {words.blocked(page.tasks.blocked)}
        </Badge>
      )}
    </span>
  )
}

function Standup({ page }: { page: AgentDetails }) {
  const last = page.standups[0]
  const led = useLed(page.agent_id)
  if (!last) return <span className="text-soft">{led.length > 0 ? words.leadsStandup : words.noStandup}</span>
  return (
    <TextLink className="flex items-center gap-1.5 hover:underline" href={standupHref(last.standup_id)}>
      <span className="whitespace-nowrap">{last.date}</span>
      <AnswerMark of={last.status} />
    </TextLink>
  )
}

const Today = ({ page }: { page: AgentDetails }) => (
  <span className="whitespace-nowrap" title={words.runsFrom(page.spend.today.runs)}>
    {cost(page.spend.today)}
  </span>
)
