import { type ReactNode, useMemo, useState } from 'react'
import * as clock from '../app/clock'
import { dayIn } from '../app/days'
import { moment } from '../app/format'
import { useMe, usePeople } from '../app/queries'
import { texts } from '../texts'
import { inbox as inboxWords } from '../texts/inbox'
import { Button } from '../ui/Button'
import { DayField } from '../ui/DayField'
import { Dialog } from '../ui/Dialog'
import { Field } from '../ui/Field'
import type { MenuGroup, MenuItem } from '../ui/Menu'
import { SubmitForm } from '../ui/SubmitForm'
import { TimeField } from '../ui/TimeField'
import { type Action, maySnooze, snoozes, type Told } from './item'
import { unsaidOf, useItemAction } from './useItemAction'

const words = inboxWords

export interface ItemActions {
  act: (item: Told, action: Action) => void
  /** The snooze options. */
  snoozeGroups: (item: Told) => MenuGroup[]
  /** All actions of the item. */
  groups: (item: Told) => MenuGroup[]
  resolve: (item: Told) => void
  /** The dialogs that some actions open first. */
  questions: ReactNode
}

type Question = { what: 'snooze' | 'resolve'; item: Told }

/** Returns the people who can be assigned: active accounts that aren't agents. */
export function useAssignees(): { id: string; name: string; mine: boolean }[] {
  const me = useMe().data
  const people = usePeople()
  return useMemo(
    () =>
      [...people.values()]
        .filter(p => p.active && p.agent === null)
        .map(p => ({ id: p.id, name: p.name, mine: p.id === me?.id }))
        .sort((a, b) => Number(b.mine) - Number(a.mine) || a.name.localeCompare(b.name)),
    [people, me],
  )
}

/** Returns the actions for rows, the panel, and shortcuts. */
export function useItemActions(): ItemActions {
  const act = useItemAction()
  const people = useAssignees()
  const [question, setQuestion] = useState<Question | null>(null)
  return useMemo(() => {
    const snoozeGroups = (item: Told): MenuGroup[] => [
      {
        label: words.snooze,
        items: [
          ...snoozes(new Date(clock.now())).map(s => ({
            id: s.id,
            label: words.snoozes[s.id],
            icon: 'clock' as const,
            onSelect: () => act(item, { do: 'snooze', until: s.until.toISOString() }),
          })),
          {
            id: 'other',
            label: words.snoozes.other,
            icon: 'schedules' as const,
            onSelect: () => setQuestion({ what: 'snooze', item }),
          },
        ],
      },
    ]
    const resolve = (item: Told) => setQuestion({ what: 'resolve', item })
    const groups = (item: Told): MenuGroup[] => {
      const over = item.state === 'resolved'
      const steps: MenuItem[] = [
        ...(over || item.state === 'acked'
          ? []
          : [{ id: 'ack', label: words.ack, icon: 'check' as const, onSelect: () => act(item, { do: 'ack' }) }]),
        ...(over
          ? []
          : [{ id: 'resolve', label: words.resolve, icon: 'checks' as const, onSelect: () => resolve(item) }]),
        ...(item.state === 'open'
          ? []
          : [
              {
                id: 'reopen',
                label: words.reopen,
                icon: 'inbox' as const,
                onSelect: () => act(item, { do: 'reopen' }),
              },
            ]),
      ]
      const to = (id: string, label: string, assignee: { id: string; name: string } | null): MenuItem => ({
        id,
        label,
        icon: 'user',
        checked: (item.assignee?.id ?? null) === (assignee?.id ?? null),
        onSelect: () => act(item, { do: 'assign', to: assignee }),
      })
      return [
        { items: steps },
        ...(over ? [] : snoozeGroups(item)),
        ...(over
          ? []
          : [
              {
                label: words.assignTo,
                items: [
                  ...people.map(p => to(p.id, p.mine ? words.me(p.name) : p.name, { id: p.id, name: p.name })),
                  to('nobody', words.nobody, null),
                ],
              },
            ]),
      ]
    }
    const close = () => setQuestion(null)
    const questions = (
      <>
        <Dialog onClose={close} open={question?.what === 'snooze'} title={words.snoozeTitle}>
          {question && <SnoozeUntil act={act} item={question.item} onDone={close} />}
        </Dialog>
        <Dialog onClose={close} open={question?.what === 'resolve'} title={words.resolveTitle}>
          {question && <Resolve act={act} item={question.item} onDone={close} />}
        </Dialog>
      </>
    )
    return { act, snoozeGroups, groups, resolve, questions }
  }, [act, people, question])
}

interface Asked {
  item: Told
  act: ItemActions['act']
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

function SnoozeUntil({ item, act, onDone }: Asked) {
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

function Resolve({ item, act, onDone }: Asked) {
  const [note, setNote] = useState(() => unsaidOf(item.id))
  return (
    <SubmitForm
      onSend={() => {
        act(item, { do: 'resolve', note: note.trim() })
        onDone()
      }}
    >
      <About item={item} />
      <Field
        autoFocus
        help={words.resolveHelp}
        label={words.resolveNote}
        maxLength={1000}
        onChange={e => setNote(e.target.value)}
        value={note}
      />
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>{texts.ui.cancel}</Button>
        <Button look="primary" type="submit">
          {words.resolveSubmit}
        </Button>
      </div>
    </SubmitForm>
  )
}
