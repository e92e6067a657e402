import { useQuery } from '@tanstack/react-query'
import type { Schemas } from '../api/client'
import { jobsQuery, sessionsQuery } from '../settings/queries'
import { texts } from '../texts'
import { welcome } from '../texts/welcome'
import { Icon, type IconName } from '../ui/Icon'
import { Answer, Skeleton } from '../ui/Views'

const words = welcome.found

/** The runtime's agents, sessions, and jobs. */
export function RuntimeContents({ agents }: { agents: readonly Schemas['Agent'][] | undefined }) {
  if (!agents) return <Skeleton label={`${texts.ui.loading} ${words.what}`} rows={3} />
  const there = agents.filter(a => a.in_runtime === true)
  return (
    <>
      <p>{words.text}</p>
      <Lists agents={there} />
      {there.length === 0 && <p>{words.none}</p>}
    </>
  )
}

function Lists({ agents }: { agents: readonly Schemas['Agent'][] }) {
  const sessions = useQuery(sessionsQuery)
  const jobs = useQuery(jobsQuery)
  return (
    <ul aria-label={welcome.steps.found} className="flex flex-col gap-3">
      <li>
        <Item icon="agents" name={words.agents(agents.length)}>
          {agents.map(a => (
            <li key={a.agent_id}>
              <bdi>{a.name}</bdi> <span className="wrap-anywhere font-mono text-soft text-xs">{a.agent_id}</span>
            </li>
          ))}
        </Item>
      </li>
      <li>
        <Answer of={sessions} rows={1} what={words.what}>
          {page => (
            <Item icon="sessions" name={words.sessions(page.rows.length, page.next !== null)}>
              {page.rows.some(s => s.active) && <li>{words.running(page.rows.filter(s => s.active).length)}</li>}
            </Item>
          )}
        </Answer>
      </li>
      <li>
        <Answer of={jobs} rows={1} what={words.what}>
          {page => (
            <Item icon="schedules" name={words.jobs(page.rows.length, page.next !== null)}>
              {page.rows.slice(0, 10).map(j => (
                <li key={j.id}>
                  <bdi>{j.name}</bdi>
                </li>
              ))}
            </Item>
          )}
        </Answer>
      </li>
    </ul>
  )
}

function Item({ icon, name, children }: { icon: IconName; name: string; children: React.ReactNode }) {
  return (
    <div className="flex gap-3">
      <Icon className="mt-0.5 text-soft" name={icon} />
      <div className="min-w-0">
        <p className="font-medium">{name}</p>
        <ul className="wrap-anywhere text-soft">{children}</ul>
      </div>
    </div>
  )
}
