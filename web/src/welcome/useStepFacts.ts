import { useQuery } from '@tanstack/react-query'
import { asProblem } from '../api/problem'
import { queries } from '../app/queries'
import { doctorQuery, jobsQuery } from '../settings/queries'
import type { Known } from './steps'

const text = (error: unknown): string | undefined => (error ? asProblem(error).message : undefined)

/** Returns the facts that decide which steps are done. Only the doctor step itself runs the doctor. */
export function useStepFacts(): Known & { settled: boolean } {
  const gateway = useQuery(queries.gateway)
  const agents = useQuery(queries.agents)
  const exam = useQuery({ ...doctorQuery, enabled: false }).data
  const connected = gateway.data !== undefined && gateway.data.connected_at !== null
  // While the gateway is offline the server has no job list.
  const jobs = useQuery({ ...jobsQuery, enabled: connected })
  return {
    gateway: gateway.data,
    exam,
    agents: agents.data,
    jobs: jobs.data?.rows,
    failed: { gateway: text(gateway.error), agents: text(agents.error), jobs: text(jobs.error) },
    settled: !gateway.isLoading && !agents.isLoading && !jobs.isLoading,
  }
}
