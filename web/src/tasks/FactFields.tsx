import { useState } from 'react'
import { texts } from '../texts'
import { DayField } from '../ui/DayField'
import { Field } from '../ui/Field'
import type { Task } from './task'

const f = texts.tasks.fields

/** Returns the local day of a moment, for a date field. */
export function localDay(at: string): string {
  const d = new Date(at)
  const digits = (n: number, many: number) => String(n).padStart(many, '0')
  return `${digits(d.getFullYear(), 4)}-${digits(d.getMonth() + 1, 2)}-${digits(d.getDate(), 2)}`
}

/** Returns the end of a day as a timestamp; undefined for an implausible day. */
export function eveningOf(day: string): string | null | undefined {
  if (day === '') return null
  const at = new Date(`${day}T18:00`)
  const year = at.getFullYear()
  return year >= 2000 && year <= 9999 ? at.toISOString() : undefined
}

/** Returns the tags in a text with commas, each once. */
export const tagsIn = (text: string): string[] => [...new Set(text.split(',').map(t => t.trim()))].filter(Boolean)

const sendOnEnter = (e: React.KeyboardEvent<HTMLInputElement>) => {
  if (e.key === 'Enter') e.currentTarget.blur()
}

/** The due date, saved at once. */
export const DueField = ({ task, onPick }: { task: Task; onPick: (at: string | null) => void }) => (
  <DayField
    label={f.due}
    onPick={day => {
      const at = eveningOf(day ?? '')
      if (at !== undefined) onPick(at)
    }}
    value={task.due_at ? localDay(task.due_at) : ''}
  />
)

/** The tags. Changes by others don't touch the input. */
export function TagsField({ task, onPick }: { task: Task; onPick: (tags: string[]) => void }) {
  const [typed, setTyped] = useState<string | null>(null)
  return (
    <Field
      // After a project field it has its own row.
      className="nth-[7]:col-span-2"
      label={f.tags}
      onBlur={() => {
        if (typed !== null) {
          const tags = tagsIn(typed)
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
