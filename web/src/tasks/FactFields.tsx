import { useState } from 'react'
import { texts } from '../texts'
import { Field } from '../ui/Field'
import type { Task } from './task'

const f = texts.tasks.fields

/** The day of a moment where one is, as a date field wants it. */
export function localDay(at: string): string {
  const d = new Date(at)
  const digits = (n: number, many: number) => String(n).padStart(many, '0')
  return `${digits(d.getFullYear(), 4)}-${digits(d.getMonth() + 1, 2)}-${digits(d.getDate(), 2)}`
}

/** The evening of a day as the API wants it; undefined when nobody can mean that day. */
export function eveningOf(day: string): string | null | undefined {
  if (day === '') return null
  const at = new Date(`${day}T18:00`)
  const year = at.getFullYear()
  return year >= 2000 && year <= 9999 ? at.toISOString() : undefined
}

const sendOnEnter = (e: React.KeyboardEvent<HTMLInputElement>) => {
  if (e.key === 'Enter') e.currentTarget.blur()
}

/** When it is due. A date that is typed is one at every digit of its year, so it counts when the field is left. */
export function DueField({ task, onPick }: { task: Task; onPick: (at: string | null) => void }) {
  const [typed, setTyped] = useState<string | null>(null)
  const known = task.due_at ? localDay(task.due_at) : ''
  return (
    <Field
      label={f.due}
      max="9999-12-31"
      min="2000-01-01"
      onBlur={e => {
        const at = eveningOf(e.target.value)
        // Half a date reads as none, and is not a wish to have none.
        if (typed !== null && typed !== known && at !== undefined && !e.target.validity.badInput) onPick(at)
        setTyped(null)
      }}
      onChange={e => setTyped(e.target.value)}
      onKeyDown={sendOnEnter}
      type="date"
      value={typed ?? known}
    />
  )
}

/** Its tags. What somebody else makes of them does not touch what one is writing. */
export function TagsField({ task, onPick }: { task: Task; onPick: (tags: string[]) => void }) {
  const [typed, setTyped] = useState<string | null>(null)
  return (
    <Field
      // Behind a project it has a line of its own.
      className="nth-[7]:col-span-2"
      label={f.tags}
      onBlur={() => {
        if (typed !== null) {
          const tags = [...new Set(typed.split(',').map(t => t.trim()))].filter(Boolean)
          if (tags.join() !== (task.tags ?? []).join()) onPick(tags)
        }
        setTyped(null)
      }}
      onChange={e => setTyped(e.target.value)}
      onKeyDown={sendOnEnter}
      value={typed ?? task.tags?.join(', ') ?? ''}
    />
  )
}
