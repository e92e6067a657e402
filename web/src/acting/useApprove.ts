import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { sendChange } from '../tasks/change'
import { putTask } from '../tasks/queries'
import { acting } from '../texts/acting'
import { say, sayFailed } from '../ui/toast'

const words = acting.approve

/** A task in Review. */
export interface Reviewed {
  id: string
  key: string
  /** When the task moved to Review, which Undo restores: otherwise the task looks new, and its item comes a day later. */
  moved_at: string
}

/** Approves a task in Review. Undo returns it to Review. */
export function useApprove() {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ id }: Reviewed) => take(api.POST('/api/v1/tasks/{id}/approve', { params: { path: { id } } })),
    onSuccess: (task, { moved_at }) => {
      putTask(cache, task)
      say(words.done(task.key), () => {
        sendChange(task.id, { status: 'review', moved_at }).then(
          back => {
            putTask(cache, back)
            say(words.undone(task.key))
          },
          err => sayFailed(err),
        )
      })
    },
    onError: (err, { key }) => sayFailed(err, words.couldNot(key)),
  })
}
