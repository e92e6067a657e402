import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, take } from '../api/client'
import { rereadSoon } from '../app/live/patches'
import { queries } from '../app/queries'
import { approvals as words } from '../texts/approvals'
import { Button } from '../ui/Button'
import { Field } from '../ui/Field'
import { say, sayFailed } from '../ui/toast'
import { Answer } from '../ui/Views'
import { type Question, questionQuery } from './queries'
import { RequestFrame } from './RequestFrame'

/** A question of an agent, with its options and a field for other words. */
export function QuestionCard({ id, onDone }: { id: string; onDone?: () => void }) {
  const asked = useQuery(questionQuery(id))
  return (
    <Answer of={asked} what={words.what}>
      {q => <Card q={q} {...(onDone ? { onDone } : {})} />}
    </Answer>
  )
}

/** Why the agent does not have the answer yet; nothing if it has it, or takes it from its run. */
function Delivery({ of: q }: { of: Question }) {
  const name = useQuery(queries.agents).data?.find(a => a.agent_id === q.agent_id)?.name ?? q.agent_id
  if (q.delivery !== 'due' && q.delivery !== 'failed') return null
  return (
    <p className={q.delivery === 'failed' ? 'text-danger' : 'text-attention'} role="status">
      <bdi>{words.delivery[q.delivery](name)}</bdi> <bdi>{q.delivery_note}</bdi>
    </p>
  )
}

type Part = Question['parts'][number]
type Chosen = Readonly<Record<string, { labels: readonly string[]; own: string }>>

/** The answers to a part: the chosen options and the own words. */
const given = (chosen: Chosen, part: Part): string[] => {
  const { labels = [], own = '' } = chosen[part.id] ?? {}
  return own.trim() === '' ? [...labels] : part.multiple ? [...labels, own.trim()] : [own.trim()]
}

function Card({ q, onDone }: { q: Question; onDone?: () => void }) {
  const cache = useQueryClient()
  const [chosen, choose] = useState<Chosen>({})
  const sending = useMutation({
    mutationFn: (answers: Record<string, string[]> | undefined) =>
      take(
        api.POST('/api/v1/questions/{id}/answer', {
          params: { path: { id: q.id } },
          body: { shown: q.shown, ...(answers ? { answers } : {}) },
        }),
      ),
    onSuccess: () => {
      say(words.done)
      onDone?.()
    },
    onError: err => sayFailed(err, words.couldNot),
    onSettled: () => rereadSoon(cache, ['approvals']),
  })
  const answers = Object.fromEntries(q.parts.map(p => [p.id, given(chosen, p)]))
  const complete = q.parts.every(p => (answers[p.id]?.length ?? 0) > 0)
  const buttons = (
    <div className="flex flex-wrap gap-2">
      <Button busy={sending.isPending} disabled={!complete} look="primary" onClick={() => sending.mutate(answers)}>
        {words.submit}
      </Button>
      <Button busy={sending.isPending} onClick={() => sending.mutate(undefined)}>
        {words.skip(q.parts.length)}
      </Button>
      {!complete && <p className="self-center text-soft text-xs">{words.incomplete(q.parts.length)}</p>}
    </div>
  )
  return (
    <RequestFrame buttons={buttons} kind="question" of={q}>
      {q.parts.map(p => (
        <PartFields
          answers={q.answers[p.id] ?? []}
          change={next => choose(was => ({ ...was, [p.id]: next }))}
          is={chosen[p.id] ?? { labels: [], own: '' }}
          key={p.id}
          open={q.state === 'pending'}
          part={p}
        />
      ))}
      <Delivery of={q} />
    </RequestFrame>
  )
}

interface Fields {
  part: Part
  open: boolean
  answers: readonly string[]
  is: { labels: readonly string[]; own: string }
  change: (next: { labels: readonly string[]; own: string }) => void
}

function PartFields({ part, open, answers, is, change }: Fields) {
  const pick = (label: string, on: boolean) =>
    change({
      ...is,
      labels: part.multiple ? (on ? [...is.labels, label] : is.labels.filter(l => l !== label)) : [label],
    })
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="wrap-anywhere mb-1 font-medium">
        <bdi>{part.text}</bdi>
      </legend>
      {open && part.multiple && <p className="text-soft text-xs">{words.several}</p>}
      {!open && answers.length > 0 && (
        <p className="wrap-anywhere">
          <bdi>{answers.join(', ')}</bdi>
        </p>
      )}
      {open &&
        part.options.map(o => (
          <label className="flex min-h-[24px] items-start gap-2" key={o.label}>
            <input
              checked={is.labels.includes(o.label)}
              className="mt-1"
              name={part.id}
              onChange={e => pick(o.label, e.target.checked)}
              type={part.multiple ? 'checkbox' : 'radio'}
            />
            <span className="wrap-anywhere">
              <bdi>{o.label}</bdi> {o.description && <bdi className="text-soft">{o.description}</bdi>}
            </span>
          </label>
        ))}
      {open && (
        <Field
          label={words.own}
          maxLength={4000}
          onChange={e => change({ ...is, own: e.target.value })}
          value={is.own}
        />
      )}
    </fieldset>
  )
}
