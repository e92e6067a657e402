import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { Button, IconButton } from '../ui/Button'
import { Field, TextArea } from '../ui/Field'
import { Markdown } from '../ui/Markdown'
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

/** Escape cancels an untouched field. With changes it only leaves the field. */
const keys = (e: React.KeyboardEvent, edit: ReturnType<typeof useEdit>, enter: boolean) => {
  if (e.key === 'Escape' && !edit.written) edit.stop()
  else if (e.key === 'Enter' && (enter || e.ctrlKey || e.metaKey) && !e.nativeEvent.isComposing) edit.save()
  else return
  e.preventDefault()
  e.stopPropagation()
}

export function Title({ task }: { task: Task }) {
  const edit = useEdit(task, 'title')
  if (edit.draft === null) {
    return (
      <div className="flex items-start gap-2">
        <h2 className="wrap-anywhere min-w-0 grow font-semibold text-lg">
          <bdi>{task.title}</bdi>
        </h2>
        <IconButton icon="pencil" label={`${words.edit}: ${words.fields.title}`} onClick={edit.begin} />
      </div>
    )
  }
  return (
    <div className="flex items-end gap-2">
      <Field
        autoFocus
        className="grow"
        error={edit.error}
        label={words.fields.title}
        maxLength={500}
        onChange={e => edit.write(e.target.value)}
        onKeyDown={e => keys(e, edit, true)}
        value={edit.draft}
      />
      <Button look="quiet" onClick={edit.stop}>
        {texts.ui.cancel}
      </Button>
      <Button busy={edit.busy} look="primary" onClick={edit.save}>
        {words.save}
      </Button>
    </div>
  )
}

export function Description({ task }: { task: Task }) {
  const edit = useEdit(task, 'description')
  if (edit.draft === null) {
    return (
      <div className="flex items-start gap-2">
        <div className="min-w-0 grow">
          {task.description ? <Markdown text={task.description} /> : <p className="text-soft">{words.noDescription}</p>}
        </div>
        <IconButton icon="pencil" label={`${words.edit}: ${words.fields.description}`} onClick={edit.begin} />
      </div>
    )
  }
  return (
    <div className="flex flex-col gap-2">
      <TextArea
        autoFocus
        error={edit.error}
        help={words.markdown}
        label={words.fields.description}
        onChange={e => edit.write(e.target.value)}
        onKeyDown={e => keys(e, edit, false)}
        rows={10}
        value={edit.draft}
      />
      <div className="flex justify-end gap-2">
        <Button look="quiet" onClick={edit.stop}>
          {texts.ui.cancel}
        </Button>
        <Button busy={edit.busy} look="primary" onClick={edit.save}>
          {words.save}
        </Button>
      </div>
    </div>
  )
}
