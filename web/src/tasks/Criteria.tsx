import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schemas } from '../api/client'
import { asProblem } from '../api/problem'
import { useMe } from '../app/queries'
import { texts } from '../texts'
import { receipts } from '../texts/receipts'
import { Button, IconButton } from '../ui/Button'
import { Select, TextArea } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { sendChange, useChange } from './change'
import { linesIn } from './fields'
import { putTask } from './queries'
import type { Task } from './task'

const words = receipts.criteria

const requestOf = (c: Schemas['TaskCriterion']): Schemas['TaskNewCriterion'] => ({
  text: c.text,
  met: c.met,
  ...(c.check === null ? {} : { check: c.check }),
})

/** The acceptance criteria and the checks of a task, to tick and to edit. Agents only see them. */
export function Criteria({ task }: { task: Task }) {
  const [editing, setEditing] = useState(false)
  const change = useChange()
  const me = useMe().data
  const may = me !== undefined && me.role !== 'agent' && task.archived_at === null
  const none = task.criteria.length + task.checks.length === 0
  if (editing) return <Form onClose={() => setEditing(false)} task={task} />
  if (none)
    return may ? (
      <div>
        <Button icon="plus" look="quiet" onClick={() => setEditing(true)}>
          {words.add}
        </Button>
      </div>
    ) : null
  const tick = (at: number, met: boolean) => {
    const criteria = task.criteria.map((c, i) =>
      i === at ? { ...c, met, met_by: met ? (me?.name ?? null) : null } : c,
    )
    change({ task, body: { criteria: criteria.map(requestOf) }, looks: { criteria } })
  }
  return (
    <section aria-label={words.title} className="flex flex-col gap-2">
      <div className="flex items-center justify-between">
        <h3 className="font-semibold">{words.title}</h3>
        {may && <IconButton icon="pencil" label={words.edit} onClick={() => setEditing(true)} />}
      </div>
      <ul className="flex flex-col gap-1 empty:hidden">
        {task.criteria.map((c, i) => (
          <li key={c.text}>
            <label
              className="flex min-h-6 items-baseline gap-2 pointer-coarse:min-h-9"
              title={c.met ? (c.met_by ? words.metBy(c.met_by) : words.metByCheck) : undefined}
            >
              <input
                checked={c.met}
                className="self-center"
                disabled={!may}
                onChange={e => tick(i, e.target.checked)}
                type="checkbox"
              />
              <bdi className="wrap-anywhere min-w-0">{c.text}</bdi>
              {c.check !== null && <bdi className="key wrap-anywhere text-soft text-xs">{c.check}</bdi>}
            </label>
          </li>
        ))}
      </ul>
      {task.checks.length > 0 && (
        <div>
          <h4 className="mb-1 text-soft text-xs">{words.checks}</h4>
          <ul className="flex flex-col gap-0.5">
            {task.checks.map(c => (
              <li key={c}>
                <bdi className="key wrap-anywhere">{c}</bdi>
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  )
}

function Form({ task, onClose }: { task: Task; onClose: () => void }) {
  const cache = useQueryClient()
  const [criteria, setCriteria] = useState(task.criteria.map(c => c.text).join('\n'))
  const [checks, setChecks] = useState(task.checks.join('\n'))
  // The check that decides about a criterion, by the criterion's text.
  const [deciding, setDeciding] = useState(() => new Map(task.criteria.map(c => [c.text, c.check ?? ''])))
  const lines = linesIn(criteria)
  const commands = [...new Set([...linesIn(checks), ...deciding.values()])].filter(Boolean)
  const save = useMutation({
    mutationFn: () => {
      const request = (text: string): Schemas['TaskNewCriterion'] => {
        const check = deciding.get(text) ?? ''
        // A criterion that stays the same keeps its tick.
        const was = task.criteria.find(c => c.text === text && (c.check ?? '') === check)
        return was ? requestOf(was) : { text, ...(check ? { check } : {}) }
      }
      return sendChange(task.id, { criteria: lines.map(request), checks: linesIn(checks) }, task.version)
    },
    onSuccess: next => {
      putTask(cache, next)
      onClose()
    },
  })
  const problem = save.error ? asProblem(save.error) : null
  return (
    <SubmitForm
      busy={save.isPending}
      className="gap-2"
      onCancel={onClose}
      onSend={() => save.mutate()}
      submit={texts.tasks.save}
    >
      <TextArea
        autoFocus
        error={problem?.message}
        help={words.help}
        label={words.label}
        onChange={e => setCriteria(e.target.value)}
        rows={4}
        value={criteria}
      />
      <TextArea
        help={words.checksHelp}
        label={words.checksLabel}
        onChange={e => setChecks(e.target.value)}
        rows={2}
        value={checks}
      />
      {commands.length > 0 &&
        lines.map(text => (
          <Select
            choices={[{ value: '', label: words.byPerson }, ...commands.map(c => ({ value: c, label: c }))]}
            key={text}
            label={words.decidedBy(text)}
            onChange={e => setDeciding(new Map(deciding).set(text, e.target.value))}
            value={deciding.get(text) ?? ''}
          />
        ))}
    </SubmitForm>
  )
}
