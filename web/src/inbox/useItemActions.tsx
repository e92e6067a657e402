import { type ReactNode, useMemo, useState } from 'react'
import { useTaskDialogs } from '../acting/useTaskDialogs'
import * as clock from '../app/clock'
import { lazyPart } from '../app/lazy'
import { useMe, usePeople } from '../app/queries'
import { useStop } from '../sessions/Stop'
import { acting } from '../texts/acting'
import { approvals } from '../texts/approvals'
import { inbox as inboxWords } from '../texts/inbox'
import { Dialog } from '../ui/Dialog'
import type { MenuGroup, MenuItem } from '../ui/Menu'
import { DecideItem, Resolve, SnoozeUntil } from './ItemDialogs'
import { type Action, agentOf, snoozes, type Told, taskOf } from './item'
import { useItemAction } from './useItemAction'

const words = inboxWords

// Lazy, because few items are about the gateway.
const TestConnection = lazyPart(() => import('./TestConnection'), 'TestConnection')

const AskedOf = lazyPart(() => import('./AskedOf'), 'AskedOf')

export interface ItemActions {
  act: (item: Told, action: Action) => void
  /** The snooze options. */
  snoozeGroups: (item: Told) => MenuGroup[]
  /** All actions of the item. */
  groups: (item: Told) => MenuGroup[]
  resolve: (item: Told) => void
  /** Asks for a decision about the item's task, or about the item itself if it has none. */
  decide: (item: Told) => void
  sendBack: (item: Told) => void
  /** Stops the session that the item is about, after a confirmation. */
  stop: (item: Told) => void
  /** Tests the connection to the gateway, in a dialog. */
  test: (item: Told) => void
  /** Shows an agent's approval or question, in a dialog. */
  answer: (item: Told) => void
  /** The dialogs that some actions open first. */
  questions: ReactNode
}

const dialogs = {
  snooze: { title: words.snoozeTitle, Form: SnoozeUntil },
  resolve: { title: words.resolveTitle, Form: Resolve },
  decide: { title: acting.decide.titleOf, Form: DecideItem },
} as const

type Question = { what: keyof typeof dialogs | 'test' | 'answer'; item: Told }

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
  const [askTask, taskDialogs] = useTaskDialogs()
  const [askStop, stopDialog] = useStop()
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
          : [
              {
                id: 'ack',
                label: words.ack,
                help: words.ackHelp,
                icon: 'check' as const,
                onSelect: () => act(item, { do: 'ack' }),
              },
            ]),
        ...(over
          ? []
          : [
              {
                id: 'resolve',
                label: words.resolve,
                help: words.resolveMeans,
                icon: 'checks' as const,
                onSelect: () => resolve(item),
              },
            ]),
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
    const decide = (item: Told) => {
      const task = taskOf(item)
      if (task) askTask('decide', task)
      else setQuestion({ what: 'decide', item })
    }
    const close = () => setQuestion(null)
    const asked = (what: keyof typeof dialogs) => {
      const { title, Form } = dialogs[what]
      return (
        <Dialog onClose={close} open={question?.what === what} title={title}>
          {question && <Form act={act} item={question.item} onDone={close} />}
        </Dialog>
      )
    }
    const questions = (
      <>
        {asked('snooze')}
        {asked('resolve')}
        {asked('decide')}
        <Dialog onClose={close} open={question?.what === 'test'} title={words.acts.testConnection} wide>
          {question?.what === 'test' && <TestConnection />}
        </Dialog>
        <Dialog
          onClose={close}
          open={question?.what === 'answer'}
          title={approvals.title[question?.item.kind === 'question' ? 'question' : 'approval']}
          wide
        >
          {question?.what === 'answer' && <AskedOf item={question.item} onDone={close} />}
        </Dialog>
        {taskDialogs}
        {stopDialog}
      </>
    )
    return {
      act,
      snoozeGroups,
      groups,
      resolve,
      decide,
      sendBack: (item: Told) => askTask('sendBack', taskOf(item) ?? item.subject.id),
      stop: ({ subject }: Told) => askStop({ key: subject.id, label: null, agent_id: agentOf(subject.id) }),
      test: (item: Told) => setQuestion({ what: 'test', item }),
      answer: (item: Told) => setQuestion({ what: 'answer', item }),
      questions,
    }
  }, [act, people, question, askTask, taskDialogs, askStop, stopDialog])
}
