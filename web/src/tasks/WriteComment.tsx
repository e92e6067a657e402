import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, newKey, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { Button } from '../ui/Button'
import { TextArea } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { draftOf, useDraft } from './drafts'
import { commentsQuery } from './queries'
import type { Task } from './task'

const words = texts.tasks

/** A form to comment on a task. The text is kept until it is sent. */
export function WriteComment({ task }: { task: Task }) {
  const cache = useQueryClient()
  const [body, setBody] = useDraft('comment', task.id)
  const [key, setKey] = useState(newKey)
  const send = useMutation({
    mutationFn: (body: string) =>
      take(
        api.POST('/api/v1/tasks/{id}/comments', {
          params: { path: { id: task.id } },
          body: { body },
          headers: { 'Idempotency-Key': key },
        }),
      ),
    onSuccess: (made, sent) => {
      // Keeps text that was typed after sending.
      if (draftOf('comment', task.id) === sent) setBody('')
      setKey(newKey())
      cache.setQueryData<Schemas['TaskComment'][]>(commentsQuery(task.id).queryKey, was =>
        was?.some(c => c.id === made.id) ? was : [...(was ?? []), made],
      )
    },
    onError: err => asProblem(err).status > 0 && setKey(newKey()),
  })
  const problem = send.error ? asProblem(send.error) : null
  return (
    <SubmitForm className="gap-2" onSend={() => body.trim() && !send.isPending && send.mutate(body)}>
      <TextArea
        error={problem ? (problem.of('body') ?? problem.message) : undefined}
        help={body ? words.mention : undefined}
        hideLabel
        label={words.writeComment}
        onChange={e => setBody(e.target.value)}
        onKeyDown={e => {
          if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) e.currentTarget.form?.requestSubmit()
        }}
        placeholder={words.writeComment}
        value={body}
      />
      <Button busy={send.isPending} className="self-end" disabled={!body.trim()} type="submit">
        {words.send}
      </Button>
    </SubmitForm>
  )
}
