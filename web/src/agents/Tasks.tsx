import { Link } from '@tanstack/react-router'
import { StatusMark } from '../tasks/Bits'
import { agents as agentTexts } from '../texts/agents'
import { Age } from '../ui/Age'
import { Badge } from '../ui/State'
import { type AgentDetails, byUrgency } from './agent'
import { TaskCounts } from './Bits'

const words = agentTexts.page

/** The number of open tasks, and those that changed last, blocked ones first; without open ones, the last done. */
export function Tasks({ id, page }: { id: string; page: AgentDetails }) {
  const { tasks } = page
  const open = tasks.last.filter(t => t.status !== 'done')
  if (tasks.last.length === 0) return <p className="text-soft">{words.noTasks}</p>
  return (
    <>
      <p className="mb-1.5">
        <TaskCounts id={id} of={tasks} />
      </p>
      <ul className="-mx-1">
        {byUrgency(open.length > 0 ? open : tasks.last).map(t => (
          <li key={t.key} className="border-line border-t">
            <Link
              className="flex min-h-9 flex-wrap items-center gap-x-2 rounded-md px-1 py-1 hover:bg-hover pointer-coarse:min-h-10"
              search={{ task: t.key }}
              to="/tasks"
            >
              <span className="flex min-w-0 grow basis-full items-baseline gap-2 sm:basis-0">
                <span className="key shrink-0 text-soft">{t.key}</span>
                <bdi className="min-w-0 truncate" title={t.title}>
                  {t.title}
                </bdi>
              </span>
              {t.dispatch && words.dispatch[t.dispatch] && t.status !== 'done' && (
                <Badge tone={t.dispatch === 'failed' ? 'danger' : 'idle'}>{words.dispatch[t.dispatch]}</Badge>
              )}
              <StatusMark blocked={t.blocked} of={t.status} />
              <Age at={t.moved_at} className="ml-auto w-20 shrink-0 text-right text-soft text-xs sm:ml-0" say="for" />
            </Link>
          </li>
        ))}
      </ul>
    </>
  )
}
