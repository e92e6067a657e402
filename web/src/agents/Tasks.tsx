import { Link } from '@tanstack/react-router'
import type { Schemas } from '../api/client'
import { StatusMark } from '../tasks/Bits'
import { texts } from '../texts'
import { agents as agentTexts } from '../texts/agents'
import { Age } from '../ui/Age'
import { Badge } from '../ui/State'
import { openTasks } from './agent'

const words = agentTexts.page

/** The number of open tasks, and the tasks that changed last. */
export function Tasks({ desk }: { desk: Schemas['AgentDesk'] }) {
  if (openTasks(desk) === 0 && desk.last.length === 0) return <p className="text-soft">{words.noTasks}</p>
  const columns = (['in_progress', 'review', 'todo', 'backlog'] as const).filter(c => desk.open[c] > 0)
  return (
    <>
      <p className="mb-1 flex flex-wrap gap-x-3 gap-y-1">
        {columns.map(c => (
          <span key={c} className="text-soft">
            {desk.open[c]} {texts.tasks.status[c].toLowerCase()}
          </span>
        ))}
        {desk.claimed > 0 && <span className="text-soft">{words.claimed(desk.claimed)}</span>}
        {desk.blocked > 0 && (
          <Badge icon="blocked" tone="danger">
            {agentTexts.blocked(desk.blocked)}
          </Badge>
        )}
      </p>
      <ul>
        {desk.last.map(t => (
          <li key={t.key} className="border-line border-b last:border-b-0">
            <Link
              className="flex min-h-8 flex-wrap items-center gap-x-2 rounded-md px-1 py-1 hover:bg-hover pointer-coarse:min-h-10"
              search={{ task: t.key }}
              to="/tasks"
            >
              <span className="flex min-w-0 grow basis-full items-baseline gap-2 sm:basis-0">
                <span className="key shrink-0 text-soft">{t.key}</span>
                <bdi className="min-w-0 truncate" title={t.title}>
                  {t.title}
                </bdi>
              </span>
              {t.blocked && (
                <Badge icon="blocked" tone="danger">
                  {texts.tasks.fields.blocked}
                </Badge>
              )}
              {t.dispatch && (
                <Badge tone={t.dispatch === 'failed' ? 'danger' : t.dispatch === 'started' ? 'active' : 'idle'}>
                  {words.dispatch[t.dispatch] ?? t.dispatch}
                </Badge>
              )}
              <StatusMark of={t.status} />
              <Age at={t.moved_at} className="ml-auto min-w-16 shrink-0 text-right text-soft text-xs sm:ml-0" />
            </Link>
          </li>
        ))}
      </ul>
    </>
  )
}
