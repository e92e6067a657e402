import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { WordsField } from '../acting/WordsForm'
import * as clock from '../app/clock'
import { dayIn } from '../app/days'
import { moment } from '../app/format'
import { useDraft } from '../tasks/drafts'
import { oneQuery } from '../tasks/queries'
import { texts } from '../texts'
import { acting } from '../texts/acting'
import { inbox as inboxWords } from '../texts/inbox'
import { Button } from '../ui/Button'
import { DayField } from '../ui/DayField'
import { Field } from '../ui/Field'
import { FormActions, SubmitForm } from '../ui/SubmitForm'
import { TimeField } from '../ui/TimeField'
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

/** Returns the local day and time of a moment, for fields. */
function local(at: Date): { day: string; time: string } {
  const two = (n: number) => String(n).padStart(2, '0')
  return { day: dayIn(at.getTime(), undefined), time: `${two(at.getHours())}:${two(at.getMinutes())}` }
}

/** Asks until when to snooze an item. */
export function SnoozeUntil({ item, act, onDone }: Asked) {
  const [at, setAt] = useState(() =>
    local(snoozes(new Date(clock.now())).find(s => s.id === 'tomorrow')?.until ?? new Date(clock.now())),
  )
  const [wrong, setWrong] = useState(false)
  const until = new Date(`${at.day}T${at.time}`)
  const set = (change: Partial<typeof at>) => {
    setAt(was => ({ ...was, ...change }))
    setWrong(false)
  }
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={e => {
        e.preventDefault()
        if (!maySnooze(until, new Date(clock.now()))) return setWrong(true)
        act(item, { do: 'snooze', until: until.toISOString() })
        onDone()
      }}
    >
      <About item={item} />
      <div className="grid grid-cols-2 gap-3">
        <DayField
          {...(wrong ? { error: words.snoozeWrong } : {})}
          autoFocus
          help={words.snoozeHelp}
          label={words.snoozeTime}
          onPick={day => day && set({ day })}
          required
          value={at.day}
        />
        <TimeField label={words.snoozeClock} onPick={time => set({ time })} required value={at.time} />
      </div>
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
