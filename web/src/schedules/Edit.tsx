import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import { asProblem, type Problem } from '../api/problem'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { Changes, Conflict } from './Diff'
import { changeOf, type Draft, diff, draftOf, rebase } from './draft'
import { JobFields, Refused } from './Fields'
import type { Definition, Job } from './job'
import { jobsQuery, putJob } from './queries'

const words = scheduleTexts.form

/** Edits a cron job: the form, then a review of the changes, then saving. */
export function Edit({ job, open, onClose }: { job: Job; open: boolean; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} open={open} title={words.edit(job.name)} wide>
      <Steps job={job} onClose={onClose} />
    </Dialog>
  )
}

/** Returns the current job from a conflict error, or null. The error is about the runtime, which has no task. */
function currentOf(
  problem: Problem | null,
  task: Job['task'],
): { job: Definition & Pick<Job, 'task'>; revision: string } | null {
  const { current, current_revision: revision } = problem?.facts ?? {}
  if (problem?.code !== 'job_changed' || typeof revision !== 'string') return null
  return typeof current === 'object' && current !== null && 'schedule' in current
    ? { job: { ...(current as Definition), task }, revision }
    : null
}

function Steps({ job, onClose }: { job: Job; onClose: () => void }) {
  const cache = useQueryClient()
  // The job when the form was opened. Later changes must not slip into the user's confirmation.
  const [base, setBase] = useState<{ draft: Draft; revision: string }>(() => ({
    draft: draftOf(job),
    revision: job.configRevision,
  }))
  const [draft, setDraft] = useState(base.draft)
  const [step, setStep] = useState<'form' | 'diff'>('form')
  const send = useMutation({
    mutationFn: (body: Schemas['ScheduleChange']) =>
      take(api.PATCH('/api/v1/agentrt/jobs/{id}', { params: { path: { id: job.id } }, body })),
    onSuccess: now => {
      putJob(cache, now)
      say(words.changed(now.name))
      onClose()
    },
    onError: err => {
      // Field errors are fixed in the form.
      if (asProblem(err).fields.length > 0) setStep('form')
      if (asProblem(err).code === 'job_changed') void cache.invalidateQueries({ queryKey: jobsQuery.queryKey })
    },
  })
  const problem = send.error ? asProblem(send.error) : null
  const theirs = currentOf(problem, job.task)
  const changes = diff(base.draft, draft)
  if (theirs) {
    return (
      <Conflict
        busy={send.isPending}
        onOverwrite={() => {
          const now = draftOf(theirs.job)
          const mine = rebase(base.draft, now, draft)
          setBase({ draft: now, revision: theirs.revision })
          setDraft(mine)
          send.mutate(changeOf(now, mine, theirs.revision))
        }}
        onTheirs={() => {
          setBase({ draft: draftOf(theirs.job), revision: theirs.revision })
          setDraft(draftOf(theirs.job))
          setStep('form')
          send.reset()
        }}
        read={base.draft}
        theirs={draftOf(theirs.job)}
        yours={draft}
      />
    )
  }
  if (step === 'form') {
    return (
      <SubmitForm
        onCancel={onClose}
        onSend={() => {
          send.reset()
          setStep('diff')
        }}
        submit={words.review}
      >
        <JobFields draft={draft} onChange={setDraft} problem={problem} zoned={base.draft.tz !== ''} />
        <Refused problem={problem} />
      </SubmitForm>
    )
  }
  return (
    <div className="flex flex-col gap-3">
      <Changes of={changes} />
      <Refused problem={problem} />
      <div className="flex flex-wrap justify-end gap-2">
        <Button autoFocus look="quiet" onClick={() => setStep('form')}>
          {words.back}
        </Button>
        <Button
          busy={send.isPending}
          disabled={changes.length === 0}
          look="primary"
          onClick={() => send.mutate(changeOf(base.draft, draft, base.revision))}
        >
          {words.send}
        </Button>
      </div>
    </div>
  )
}
