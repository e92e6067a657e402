import { useQuery } from '@tanstack/react-query'
import { queries } from '../app/queries'
import { jobNamesQuery } from '../sessions/queries'
import { nameOf, partsOf } from '../sessions/session'
import type { AgentDetails } from './agent'

/** The name of a session: its task, its job, or the runtime's label. The key is the tooltip. */
export function RunName({ of: key, page }: { of: string; page: AgentDetails }) {
  const { task, job } = partsOf(key)
  const label = page.sessions?.find(s => s.key === key)?.label ?? null
  const seen = useQuery(queries.gateway).data?.state === 'connected'
  const jobs = useQuery({ ...jobNamesQuery, enabled: seen && job !== undefined && !label }).data
  if (task) {
    const title = page.tasks.last.find(t => t.key === task)?.title
    return (
      <>
        <span className="key">{task}</span> {title && <bdi>{title}</bdi>}
      </>
    )
  }
  return <bdi>{(job && !label && jobs?.get(job)) || nameOf({ key, label, agent_id: page.agent_id })}</bdi>
}
