import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, newKey, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { useZone } from '../app/config'
import { texts } from '../texts'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { say } from '../ui/Toast'
import { noteOwn } from '../ui/useHeld'
import { type Draft, newOf } from './draft'
import { JobFields, Refused } from './Fields'
import { putJob } from './queries'

const words = scheduleTexts.form

interface Props {
  onClose: () => void
  onDone: (id: string) => void
}

/** A new job of the kind cron. */
export function Create({ open, ...rest }: Props & { open: boolean }) {
  return (
    <Dialog onClose={rest.onClose} open={open} title={words.create} wide>
      <Form {...rest} />
    </Dialog>
  )
}

function Form({ onClose, onDone }: Props) {
  const cache = useQueryClient()
  const zone = useZone() ?? ''
  const [draft, setDraft] = useState<Draft>({
    name: '',
    description: '',
    agentId: '',
    expr: '0 9 * * 1-5',
    tz: zone,
    message: '',
    delivery: 'none',
  })
  const [enabled, setEnabled] = useState(true)
  // The same try has the same key, also when it is sent again after the line broke.
  const [key, setKey] = useState(newKey)
  const make = useMutation({
    mutationFn: (body: Schemas['ScheduleDraft']) =>
      take(api.POST('/api/v1/agentrt/jobs', { body, headers: { 'Idempotency-Key': key } })),
    onSuccess: job => {
      noteOwn(job.id)
      putJob(cache, job)
      say(words.made(job.name))
      onDone(job.id)
    },
    // What was refused was not made; another body needs another key.
    onError: err => asProblem(err).status > 0 && asProblem(err).status < 500 && setKey(newKey()),
  })
  const problem = make.error ? asProblem(make.error) : null
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={e => {
        e.preventDefault()
        if (!make.isPending) make.mutate(newOf(draft, enabled))
      }}
    >
      <JobFields draft={draft} onChange={setDraft} problem={problem} />
      <label className="flex min-h-6 items-center gap-2">
        <input
          checked={enabled}
          className="size-4 accent-accent"
          onChange={e => setEnabled(e.target.checked)}
          type="checkbox"
        />
        {words.enabled}
      </label>
      <Refused problem={problem} />
      <div className="flex flex-wrap justify-end gap-2">
        <Button look="quiet" onClick={onClose}>
          {texts.ui.cancel}
        </Button>
        <Button busy={make.isPending} look="primary" type="submit">
          {words.submit}
        </Button>
      </div>
    </form>
  )
}
