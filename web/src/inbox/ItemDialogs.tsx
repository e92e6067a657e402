import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { WordsField } from '../acting/WordsForm'
import * as clock from '../app/clock'
import { moment } from '../app/format'
import { useDraft } from '../tasks/drafts'
import { oneQuery } from '../tasks/queries'
import { texts } from '../texts'
import { acting } from '../texts/acting'
import { inbox as inboxWords } from '../texts/inbox'
import { Button } from '../ui/Button'
import { Field } from '../ui/Field'
import { FormActions, SubmitForm } from '../ui/SubmitForm'
import { type Action, actsOf, maySnooze, snoozes, type Told, taskOf } from './item'
import { kindTable } from './kinds'

const words = inboxWords

interface Asked {
  item: Told
  act: (item: Told, action: Action) => void
  onDone: () => void
}

const About = ({ item }: { item: Told }) => (
  <p className="wrap-anywhere line-clamp-3 font-medium">
    <bdi>{item.title}</bdi>
  </p>
)

/** Formats a moment for a datetime-local field, in the local time zone. */
function local(at: Date): string {
  const two = (n: number) => String(n).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`
}

/** Asks until when to snooze an item. */
export function SnoozeUntil({ item, act, onDone }: Asked) {
  const [value, setValue] = useState(() =>
    local(snoozes(new Date(clock.now())).find(s => s.id === 'tomorrow')?.until ?? new Date(clock.now())),
  )
  const [wrong, setWrong] = useState(false)
  const until = new Date(value)
  return (
    <form
      className="flex flex-col gap-3"
      noValidate
      onSubmit={e => {
        e.preventDefault()
        if (!maySnooze(until, new Date(clock.now()))) return setWrong(true)
        act(item, { do: 'snooze', until: until.toISOString() })
        onDone()
      }}
    >
      <About item={item} />
      <Field
        {...(wrong ? { error: words.snoozeWrong } : {})}
        autoFocus
        help={words.snoozeHelp}
        label={words.snoozeTime}
        min={local(new Date(clock.now()))}
        onChange={e => {
          setValue(e.target.value)
          setWrong(false)
        }}
        required
        type="datetime-local"
        value={value}
      />
      <div className="flex items-center justify-end gap-2">
        {!Number.isNaN(until.getTime()) && (
          <span className="grow text-soft text-xs">{moment(until.toISOString())}</span>
        )}
        <Button onClick={onDone}>{texts.ui.cancel}</Button>
        <Button look="primary" type="submit">
          {words.snoozeSubmit}
        </Button>
      </div>
    </form>
  )
}

/** Asks how an item was resolved, and says if its cause is still there. */
export function Resolve({ item, act, onDone }: Asked) {
  const [note, write] = useDraft('resolution', item.id)
  return (
    <SubmitForm
      onSend={() => {
        act(item, { do: 'resolve', note: note.trim() })
        onDone()
      }}
    >
      <About item={item} />
      <StillThere item={item} />
      <Field
        autoFocus
        help={words.resolveHelp}
        label={words.resolveNote}
        maxLength={1000}
        onChange={e => write(e.target.value)}
        value={note}
      />
      <FormActions onCancel={onDone} submit={words.resolveSubmit} />
    </SubmitForm>
  )
}

/** What resolving the item leaves as it is. */
function StillThere({ item }: { item: Told }) {
  const key = taskOf(item)
  const task = useQuery({ ...oneQuery(key ?? ''), enabled: key !== null }).data
  const first = actsOf(item, { lead: true })[0]
  const ends = kindTable[item.kind].endsWhen
  const text =
    first === 'decide' && task?.blocked
      ? words.still.blocked(task.key)
      : first === 'approve' && task?.status === 'review'
        ? words.still.review(task.key)
        : key === null && ends
          ? words.still.other(ends)
          : null
  return text && <p className="rounded-md bg-attention-tint px-3 py-2 text-attention">{text}</p>
}

/** Asks for a decision on an item that is not about a task. The decision resolves the item. */
export function DecideItem({ item, act, onDone }: Asked) {
  const [text, write] = useDraft('resolution', item.id)
  const send = () => {
    if (!text.trim()) return
    act(item, { do: 'resolve', note: text.trim() })
    onDone()
  }
  return (
    <SubmitForm disabled={!text.trim()} onCancel={onDone} onSend={send} submit={acting.decide.submit}>
      <About item={item} />
      <WordsField
        help={acting.decide.helpItem}
        label={acting.decide.label}
        maxLength={1000}
        onChange={write}
        value={text}
      />
    </SubmitForm>
  )
}
