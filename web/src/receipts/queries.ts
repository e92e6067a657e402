import { queryOptions } from '@tanstack/react-query'
import { api, type Schemas } from '../api/client'

/** The receipt of a task; null if no agent has reported the task as done. */
export const receiptQuery = (key: string) =>
  queryOptions({
    queryKey: ['tasks', 'receipt', key],
    queryFn: async ({ signal }): Promise<Schemas['Receipt'] | null> => {
      const { data } = await api.GET('/api/v1/tasks/{id}/receipt', { params: { path: { id: key } }, signal })
      return data || null
    },
  })
