import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../api/client'
import { rereadSoon } from '../app/live/patches'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { Button } from '../ui/Button'
import { Select } from '../ui/Field'
import { say, sayFailed } from '../ui/toast'
import { inverse, sendChange } from './change'
import { putTask } from './queries'
import type { Task, TaskCard } from './task'
import { personChoices, priorityChoices, statusChoices } from './taskChoices'

const words = texts.tasks
/** The server's limit per request. */
const most = 200

async function changeAll(
  tasks: readonly TaskCard[],
  change: Schemas['TaskChange'],
): Promise<Schemas['TaskBulkResult'][]> {
  const results: Schemas['TaskBulkResult'][] = []
  for (let i = 0; i < tasks.length; i += most) {
    const body = { tasks: tasks.slice(i, i + most).map(t => t.id), change }
    results.push(...(await take(api.POST('/api/v1/tasks/bulk', { body }))))
  }
  return results
}

/** Changes all selected tasks, reports failures, and offers to undo. */
export function Bulk({
  tasks,
  people,
  onNone,
}: {
  tasks: readonly TaskCard[]
  people: ReadonlyMap<string, Person>
  onNone: () => void
}) {
  const cache = useQueryClient()
  const bulk = useMutation({
    mutationFn: (change: Schemas['TaskChange']) => changeAll(tasks, change),
    onSuccess: (results, change) => {
      rereadSoon(cache, ['tasks', 'list'])
      const refused = results.filter(r => r.problem !== null)
      const done = tasks.filter(t => !refused.some(r => r.task === t.id || r.key === t.key))
      if (refused.length > 0)
        sayFailed(
          new Error(
            refused.map(r => `${r.key ?? r.task}: ${r.problem?.title ?? ''} ${r.problem?.detail ?? ''}`).join('\n'),
          ),
          words.bulkFailed(refused.length),
        )
      if (done.length === 0) return
      say(words.bulkDone(done.length), () => {
        for (const t of done) {
          sendChange(t.id, inverse(t, change)).then(
            back => putTask(cache, back),
            err => sayFailed(err, words.couldNot(t.key)),
          )
        }
      })
    },
    onError: err => sayFailed(err),
  })
  const pick = (label: string) => ({ value: '', label: `${label}…` })
  const f = words.fields
  const team = [...people.values()].filter(p => p.active)
  const common = { hideLabel: true, className: 'w-36', value: '', disabled: bulk.isPending }
  return (
    <section
      aria-label={words.selected(tasks.length)}
      className="flex shrink-0 flex-wrap items-center gap-2 border-line border-t bg-panel px-3 py-2"
    >
      <span className="font-medium" role="status">
        {words.selected(tasks.length)}
      </span>
      <Select
        {...common}
        choices={[pick(f.status), ...statusChoices]}
        label={f.status}
        onChange={e => bulk.mutate({ status: e.target.value as Task['status'] })}
      />
      <Select
        {...common}
        choices={[pick(f.priority), ...priorityChoices]}
        label={f.priority}
        onChange={e => bulk.mutate({ priority: e.target.value as Task['priority'] })}
      />
      <Select
        {...common}
        choices={[pick(f.assignee), { value: 'none', label: words.unassigned }, ...personChoices(team)]}
        label={f.assignee}
        onChange={e => bulk.mutate({ assignee_id: e.target.value === 'none' ? null : e.target.value })}
      />
      <Button look="quiet" onClick={onNone}>
        {words.selectNone}
      </Button>
    </section>
  )
}
