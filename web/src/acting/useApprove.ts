import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { sendChange } from '../tasks/change'
import { putTask } from '../tasks/queries'
import { acting } from '../texts/acting'
import { say, sayFailed } from '../ui/toast'

const words = acting.approve

/** Approves a task in Review. Undo returns it to Review. */
export function useApprove() {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ id }: { id: string; key: string }) =>
      take(api.POST('/api/v1/tasks/{id}/approve', { params: { path: { id } } })),
    onSuccess: task => {
      putTask(cache, task)
      say(words.done(task.key), () => {
        sendChange(task.id, { status: 'review' }).then(
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
