import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { IconButton } from '../ui/Button'
import { Field, TextArea } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { sendChange } from './change'
import { draftOf, keepDraft } from './drafts'
import { putTask } from './queries'
import type { Task } from './task'

const words = texts.tasks

interface Draft {
  text: string
  /** The version of the task when editing started. */
  version: number
}

/** Returns an unsaved draft and the version it is based on. */
function begun(task: Task, field: 'title' | 'description'): Draft | null {
  const kept = draftOf(field, task.id)
  return kept ? (JSON.parse(kept) as Draft) : null
}

/**
 * Edits a text of a task. Changes by others don't touch the draft: saving reports them, and saving again overwrites
 * them. A draft is kept until the task is opened again.
 */
function useEdit(task: Task, field: 'title' | 'description') {
  const cache = useQueryClient()
  const [draft, setState] = useState<Draft | null>(() => begun(task, field))
  const setDraft = (next: Draft | null) => {
    setState(next)
    keepDraft(field, task.id, next && next.text !== task[field] ? JSON.stringify(next) : '')
  }
  const save = useMutation({
    mutationFn: (d: Draft) => sendChange(task.id, { [field]: d.text }, d.version),
    onSuccess: (next, sent) => {
      putTask(cache, next)
      // Text typed during saving continues from the saved version.
      setState(now => {
        const rest = now && now.text !== sent.text ? { text: now.text, version: next.version } : null
        keepDraft(field, task.id, rest ? JSON.stringify(rest) : '')
        return rest
      })
    },
    onError: (err, d) => {
      const problem = asProblem(err)
      const version = problem.facts.current_version
      if (problem.status === 412 && typeof version === 'number') setDraft({ ...d, version })
    },
  })
  const problem = save.error ? asProblem(save.error) : null
  return {
    draft: draft?.text ?? null,
    written: draft !== null && draft.text !== task[field],
    begin: () => {
      save.reset()
      setDraft({ text: task[field], version: task.version })
    },
    write: (text: string) => draft && setDraft({ ...draft, text }),
    stop: () => setDraft(null),
    save: () => draft && (draft.text === task[field] ? setDraft(null) : save.mutate(draft)),
    busy: save.isPending,
    error: problem ? (problem.status === 412 ? words.conflict : (problem.of(field) ?? problem.message)) : undefined,
  }
}

/** Escape cancels an untouched field. With changes it only leaves the field. Ctrl+Enter or ⌘+Enter saves. */
const keys = (e: React.KeyboardEvent, edit: ReturnType<typeof useEdit>) => {
  if (e.key === 'Escape' && !edit.written) edit.stop()
  else if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && !e.nativeEvent.isComposing) edit.save()
  else return
  e.preventDefault()
  e.stopPropagation()
}

interface Props {
  task: Task
  field: 'title' | 'description'
  /** The text as it is shown. */
  children: ReactNode
}

/** A text of a task with a button to edit it in place. */
export function Editable({ task, field, children }: Props) {
  const edit = useEdit(task, field)
  const label = words.fields[field]
  if (edit.draft === null) {
    return (
      <div className="flex items-start gap-2">
        <div className="wrap-anywhere min-w-0 grow">{children}</div>
        <IconButton className="-mt-1.5" icon="pencil" label={`${words.edit}: ${label}`} onClick={edit.begin} />
      </div>
    )
  }
  const input = {
    autoFocus: true,
    error: edit.error,
    label,
    onChange: (e: { target: { value: string } }) => edit.write(e.target.value),
    onKeyDown: (e: React.KeyboardEvent) => keys(e, edit),
    value: edit.draft,
  }
  return (
    <SubmitForm busy={edit.busy} className="gap-2" onCancel={edit.stop} onSend={edit.save} submit={words.save}>
      {field === 'title' ? (
        <Field {...input} maxLength={500} />
      ) : (
        <TextArea {...input} help={words.markdown} rows={10} />
      )}
    </SubmitForm>
  )
}
