import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../api/client'
import { asProblem } from '../api/problem'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Dialog } from '../ui/Dialog'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { Refused } from './Fields'
import type { Job } from './job'
import { dropJob, jobQuery } from './queries'

const words = scheduleTexts.removal

interface Props {
  job: Job
  open: boolean
  onClose: () => void
  onGone: () => void
}

/** Confirms the deletion of a job. */
export function Remove({ job, open, onClose, onGone }: Props) {
  const cache = useQueryClient()
  const remove = useMutation({
    mutationFn: () =>
      api.DELETE('/api/v1/agentrt/jobs/{id}', {
        params: { path: { id: job.id }, query: { configRevision: job.configRevision } },
      }),
    onSuccess: () => {
      say(words.done(job.name))
      onGone()
      dropJob(cache, job.id)
    },
    onError: err => {
      if (asProblem(err).code === 'job_changed') void cache.invalidateQueries({ queryKey: jobQuery(job.id).queryKey })
    },
  })
  const problem = remove.error ? asProblem(remove.error) : null
  const close = () => {
    remove.reset()
    onClose()
  }
  return (
    <Dialog onClose={close} open={open} title={words.title(job.name)}>
      <SubmitForm
        busy={remove.isPending}
        look="danger"
        onCancel={close}
        onSend={() => remove.mutate()}
        submit={words.confirm}
      >
        <p>{words.text}</p>
        {problem?.code === 'job_changed' ? (
          <p className="text-attention" role="alert">
            {words.changed}
          </p>
        ) : (
          <Refused problem={problem} />
        )}
      </SubmitForm>
    </Dialog>
  )
}
