import { queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from '../api/client'

export type Approval = Schemas['ApprovalDetailed']
export type Question = Schemas['ApprovalQuestion']

/** What an open request belongs to. */
export interface About {
  agent_id?: string
  session_key?: string
  task?: string
}

export const approvalQuery = (id: string) =>
  queryOptions({
    queryKey: ['approvals', 'one', id],
    queryFn: ({ signal }) => take(api.GET('/api/v1/approvals/{id}', { params: { path: { id } }, signal })),
  })

export const questionQuery = (id: string) =>
  queryOptions({
    queryKey: ['approvals', 'question', id],
    queryFn: ({ signal }) => take(api.GET('/api/v1/questions/{id}', { params: { path: { id } }, signal })),
  })

/** The approvals and questions that wait for a person. */
export const waitingQuery = (about: About) =>
  queryOptions({
    queryKey: ['approvals', 'waiting', about],
    queryFn: async ({ signal }) => {
      const query = { state: 'pending' as const, ...about }
      const [approvals, questions] = await Promise.all([
        take(api.GET('/api/v1/approvals', { params: { query }, signal })),
        take(api.GET('/api/v1/questions', { params: { query }, signal })),
      ])
      return { approvals, questions }
    },
  })

/** Whether the gateway's agents ask before they run commands. */
export const policyQuery = queryOptions({
  queryKey: ['approvals', 'policy'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/agentrt/commands', { signal })),
})
