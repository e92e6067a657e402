import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, newKey, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { usePeople } from '../app/queries'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Face } from '../ui/Face'
import { TextArea } from '../ui/Field'
import { Markdown } from '../ui/Markdown'
import { SubmitForm } from '../ui/SubmitForm'
import { Answer } from '../ui/Views'
import { draftOf, useDraft } from './drafts'
import { commentsQuery } from './queries'
import type { Task } from './task'

const words = texts.tasks

/** Number of comments to show at once, newest first. */
const atOnce = 30

/** The comments of a task, and a form to add one. */
export function Comments({ task }: { task: Task }) {
  const asked = useQuery(commentsQuery(task.id))
  const [shown, setShown] = useState(atOnce)
  return (
    <div className="flex flex-col gap-3">
      <Answer of={asked} rows={3} what={words.commentsWhat}>
        {comments =>
          comments.length === 0 ? (
            <p className="text-soft">{words.noComments}</p>
          ) : (
            <>
              {comments.length > shown && (
                <Button className="self-start" onClick={() => setShown(n => n + atOnce)}>
                  {words.earlierComments(Math.min(atOnce, comments.length - shown))}
                </Button>
              )}
              <ol className="flex flex-col gap-3">
                {comments.slice(-shown).map(c => (
                  <li key={c.id}>
                    <Said comment={c} />
                  </li>
                ))}
              </ol>
            </>
          )
        }
      </Answer>
      <Write task={task} />
    </div>
  )
}

/** A comment: its author, its age, and its text. */
export function Said({ comment: c }: { comment: Schemas['TaskComment'] }) {
  const agent = usePeople().get(c.author_id ?? '')?.agent ?? null
  return (
    <>
      <p className="mb-0.5 flex items-center gap-1.5 text-soft text-xs">
        <Face agent={agent} name={c.author_name} />
        <bdi className="font-medium text-ink">{c.author_name}</bdi> · <Age at={c.created_at} />
        {c.edited_at && ` · ${words.edited}`}
      </p>
      <Markdown text={c.body} />
    </>
  )
}

function Write({ task }: { task: Task }) {
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
        help={words.mention}
        label={words.writeComment}
        onChange={e => setBody(e.target.value)}
        onKeyDown={e => {
          if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) e.currentTarget.form?.requestSubmit()
        }}
        value={body}
      />
      <Button busy={send.isPending} className="self-end" disabled={!body.trim()} type="submit">
        {words.send}
      </Button>
    </SubmitForm>
  )
}
