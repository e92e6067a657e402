import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, newKey, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { useZone } from '../app/config'
import { draftOf, dropDraft, keepDraft } from '../tasks/drafts'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
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
  const [asking, setAsking] = useState(false)
  if (asking && !open) setAsking(false) // created, or closed by navigation
  const close = () => {
    const was = written()
    if (was && isBegun(was.draft)) setAsking(true)
    else throwAway()
  }
  const throwAway = () => {
    dropDraft(...kept)
    setAsking(false)
    onClose()
  }
  const writeOn = () => {
    setAsking(false)
    setTimeout(() => document.querySelector<HTMLElement>('[role=dialog] textarea')?.focus())
  }
  return (
    <Dialog onClose={asking ? writeOn : close} open={open} title={asking ? words.notCreated : words.create} wide>
      <div hidden={asking}>
        <Form onClose={close} onDone={onDone} />
      </div>
      {asking && (
        <>
          <p>{words.notCreatedText}</p>
          <div className="mt-4 flex flex-wrap justify-end gap-2">
            <Button look="danger" onClick={throwAway}>
              {words.throwAway}
            </Button>
            <Button autoFocus look="primary" onClick={writeOn}>
              {words.writeOn}
            </Button>
          </div>
        </>
      )}
    </Dialog>
  )
}

// Browser back closes the dialog without asking, so the draft is kept for the next time.
const kept = ['new job', ''] as const

interface Written {
  draft: Draft
  enabled: boolean
}

const written = (): Written | null => JSON.parse(draftOf(...kept) || 'null') as Written | null

function Form({ onClose, onDone }: Props) {
  const cache = useQueryClient()
  const zone = useZone() ?? ''
  const [{ draft, enabled }, setWritten] = useState<Written>(
    () =>
      written() ?? {
        draft: {
          name: '',
          description: '',
          agentId: '',
          expr: '0 9 * * 1-5',
          tz: zone,
          message: '',
          delivery: 'none',
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
      <JobFields draft={draft} onChange={next => write({ draft: next, enabled })} problem={problem} />
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
