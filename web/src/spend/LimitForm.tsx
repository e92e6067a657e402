import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, newKey, take } from '../api/client'
import { asProblem } from '../api/problem'
import { limits as words } from '../texts/limits'
import { Field, Select } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { limitsQuery, type NewLimit, previewQuery } from './limitQueries'

const choices = <K extends string>(labels: Record<K, string>) =>
  (Object.keys(labels) as K[]).map(value => ({ value, label: labels[value] }))

/** Creates a limit. With a run, it is a limit on that run only. */
export function LimitForm({ run, onClose }: { run?: string; onClose: () => void }) {
  const cache = useQueryClient()
  const [key] = useState(newKey)
  const [draft, setDraft] = useState<NewLimit>(
    run === undefined
      ? { scope: 'all', scope_id: '', measure: 'usd', amount: '25', window: 'day', action: 'tell' }
      : { scope: 'run', scope_id: run, measure: 'usd', amount: '5', window: 'run', action: 'stop' },
  )
  const preview = useQuery(previewQuery(draft)).data
  const save = useMutation({
    mutationFn: () => take(api.POST('/api/v1/limits', { body: draft, params: { header: { 'Idempotency-Key': key } } })),
    onSuccess: () => {
      say(words.added)
      onClose()
      return cache.invalidateQueries(limitsQuery)
    },
  })
  const problem = save.error ? asProblem(save.error) : null
  const set = (change: Partial<NewLimit>) => setDraft(d => ({ ...d, ...change }))
  return (
    <SubmitForm busy={save.isPending} onCancel={onClose} onSend={() => save.mutate()} submit={words.create}>
      {run !== undefined && <p className="text-soft">{words.ofRunHelp}</p>}
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        {run === undefined && (
          <Select
            choices={choices(words.scopes).filter(s => s.value !== 'run')}
            label={words.fields.scope}
            onChange={e => set({ scope: e.target.value as NewLimit['scope'], scope_id: '' })}
            value={draft.scope}
          />
        )}
        {run === undefined && draft.scope !== 'all' && (
          <Field
            autoComplete="off"
            error={problem?.of('scope_id')}
            label={words.fields.id}
            maxLength={200}
            onChange={e => set({ scope_id: e.target.value })}
            required
            value={draft.scope_id}
          />
        )}
        <Field
          autoComplete="off"
          error={problem?.of('amount')}
          inputMode="decimal"
          label={words.fields.amount}
          onChange={e => set({ amount: e.target.value })}
          required
          value={draft.amount}
        />
        <Select
          choices={choices(words.measures)}
          label={words.fields.measure}
          onChange={e => set({ measure: e.target.value as NewLimit['measure'] })}
          value={draft.measure}
        />
        {run === undefined && (
          <Select
            choices={choices(words.windows)}
            label={words.fields.window}
            onChange={e => set({ window: e.target.value as NewLimit['window'] })}
            value={draft.window}
          />
        )}
        <Select
          choices={choices(words.actions)}
          label={words.fields.action}
          onChange={e => set({ action: e.target.value as NewLimit['action'] })}
          value={draft.action}
        />
      </div>
      <p className="text-soft" role="status">
        {preview &&
          (run === undefined ? words.preview(preview.reached, preview.days) : preview.reached > 0 && words.runReached)}
      </p>
      {problem && problem.fields.length === 0 && (
        <p className="text-danger" role="alert">
          {problem.message}
        </p>
      )}
    </SubmitForm>
  )
}
