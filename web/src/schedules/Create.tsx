import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, newKey, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { myZone } from '../app/format'
import { draftOf, dropDraft, keepDraft } from '../tasks/drafts'
import { schedules as scheduleTexts } from '../texts/schedules'
import { DraftDialog } from '../ui/DraftDialog'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { noteOwn } from '../ui/useHeldRows'
import { type Draft, isBegun, newOf } from './draft'
import { JobFields, Refused } from './Fields'
import { putJob } from './queries'

const words = scheduleTexts.form

interface Props {
  onClose: () => void
  onDone: (id: string) => void
}

/** The dialog for a new cron job. */
export function Create({ open, onClose, onDone }: Props & { open: boolean }) {
  return (
    <DraftDialog
      drop={() => dropDraft(...kept)}
      field="textarea"
      isBegun={isWritten}
      onClose={onClose}
      open={open}
      wide
      words={words}
    >
      {close => <Form onClose={close} onDone={onDone} />}
    </DraftDialog>
  )
}

// Browser back closes the dialog without asking, so the draft is kept for the next time.
const kept = ['new job', ''] as const

interface Written {
  draft: Draft
  enabled: boolean
}

const written = (): Written | null => JSON.parse(draftOf(...kept) || 'null') as Written | null

function isWritten(): boolean {
  const was = written()
  return was !== null && isBegun(was.draft)
}

function Form({ onClose, onDone }: Props) {
  const cache = useQueryClient()
  const [{ draft, enabled }, setWritten] = useState<Written>(
    () =>
      written() ?? {
        draft: {
          name: '',
          description: '',
          agentId: '',
          expr: '0 9 * * 1-5',
          once: '',
          tz: myZone(),
          message: '',
          delivery: 'none',
          taskTitle: '',
          taskText: '',
          taskPriority: 'medium',
        },
        enabled: true,
      },
  )
  const write = (next: Written) => {
    setWritten(next)
    if (isBegun(next.draft)) keepDraft(...kept, JSON.stringify(next))
    else dropDraft(...kept)
  }
  // A retry of the same request sends the same idempotency key.
  const [key, setKey] = useState(newKey)
  const make = useMutation({
    mutationFn: (body: Schemas['ScheduleDraft']) =>
      take(api.POST('/api/v1/agentrt/jobs', { body, headers: { 'Idempotency-Key': key } })),
    onSuccess: job => {
      noteOwn(job.id)
      putJob(cache, job)
      say(words.made(job.name))
      dropDraft(...kept)
      onDone(job.id)
    },
    // A refused request created nothing, and a changed body needs a new key.
    onError: err => asProblem(err).status > 0 && asProblem(err).status < 500 && setKey(newKey()),
  })
  const problem = make.error ? asProblem(make.error) : null
  return (
    <SubmitForm
      busy={make.isPending}
      onCancel={onClose}
      onSend={() => !make.isPending && make.mutate(newOf(draft, enabled))}
      submit={words.submit}
    >
      <JobFields draft={draft} onceToo onChange={next => write({ draft: next, enabled })} problem={problem} />
      <label className="flex min-h-6 items-center gap-2">
        <input
          checked={enabled}
          className="size-4 accent-accent"
          onChange={e => write({ draft, enabled: e.target.checked })}
          type="checkbox"
        />
        {words.enabled}
      </label>
      <Refused problem={problem} />
    </SubmitForm>
  )
}
