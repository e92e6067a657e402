import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, take } from '../api/client'
import { putTask } from '../tasks/queries'
import { standups } from '../texts/standups'
import { Button } from '../ui/Button'
import { say, sayFailed } from '../ui/toast'
import { dayText, TaskLink } from './Bits'
import type { Standup } from './standup'

const words = standups

/** Returns the text on one line, cut to a length without splitting a character. */
function oneLine(text: string, most: number): string {
  const line = [...text.replace(/\s+/g, ' ').trim()]
  return line.length > most ? `${line.slice(0, most - 1).join('')}…` : line.join('')
}

interface Props {
  standup: Standup
  /** Identifies the item, so that pressing twice creates one task. */
  name: string
  title: string
  detail?: string
  /** The assigned agent. */
  owner?: string | null
}

/** A button that creates a task from an item without one. */
export function CreateTask({ standup, name, title, detail, owner }: Props) {
  const cache = useQueryClient()
  const [made, setMade] = useState<string | null>(null)
  const make = useMutation({
    mutationFn: () =>
      take(
        api.POST('/api/v1/tasks', {
          body: {
            title: oneLine(title, 200),
            description: [words.fromStandup(dayText(standup.date, 'long')), detail].filter(Boolean).join('\n\n'),
            ...(owner && standup.reports.some(r => r.agent_id === owner && r.status !== 'missing')
              ? { assignee_id: owner }
              : {}),
          },
          headers: { 'Idempotency-Key': `standup-${standup.id}-${standup.attempt}-${name}` },
        }),
      ),
    onSuccess: task => {
      putTask(cache, task)
      setMade(task.key)
      say(words.taskMade(task.key))
    },
    onError: err => sayFailed(err, words.couldNotMake),
  })
  return made ? (
    <TaskLink of={made} />
  ) : (
    <Button busy={make.isPending} className="no-print self-start" icon="plus" onClick={() => make.mutate()}>
      {words.makeTask}
    </Button>
  )
}
