import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { waitingQuery } from './queries'

/** An approval or a question of an agent. */
export interface Asked {
  kind: 'approval' | 'question'
  id: string
  session: string
}

interface Request {
  id: string
  agent_id: string
  session_key: string
  source?: 'runtime' | 'wardroom'
}

const listed = (requests: readonly Request[], kind: Asked['kind'], keep: (r: Request) => boolean) =>
  requests.filter(keep).map(r => [r.agent_id, { kind, id: r.id, session: r.session_key }] as const)

function useRequests(keep: (r: Request) => boolean): ReadonlyMap<string, Asked> {
  const asked = useQuery(waitingQuery({})).data
  return useMemo(
    () =>
      new Map([
        ...listed(asked?.questions ?? [], 'question', keep),
        ...listed(asked?.approvals ?? [], 'approval', keep),
      ]),
    [asked, keep],
  )
}

const any = () => true
const holdsUpRun = (r: Request) => r.source !== 'wardroom'

/** Returns what each agent asks a person, by agent ID. Approvals come first. */
export const useAsked = (): ReadonlyMap<string, Asked> => useRequests(any)

/** Like useAsked, but only returns what holds up a run. An agent goes on after ask_human. */
export const useWaiting = (): ReadonlyMap<string, Asked> => useRequests(holdsUpRun)
