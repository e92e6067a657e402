import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { leads, queries, useMe, usePeople } from '../app/queries'
import { receiptQuery } from '../receipts/queries'
import { oneQuery, putTask } from '../tasks/queries'
import { acting } from '../texts/acting'
import { say } from '../ui/toast'
import { Answer } from '../ui/Views'
import { WordsForm } from './WordsForm'

const words = acting.sendBack

interface Props {
  /** The key or ID of the task. */
  task: string
  onDone: () => void
}

/** Asks what to change in a task in Review, and returns it to In progress. Its agent continues in the same session. */
export function SendBack({ task: key, onDone }: Props) {
  const cache = useQueryClient()
  const people = usePeople()
  const asked = useQuery(oneQuery(key))
  const receipt = useQuery({ ...receiptQuery(key), retry: false }) // without it, the form begins empty
  const gateway = useQuery(queries.gateway).data
  const sends = leads(useMe().data) && gateway?.state !== 'not_configured'
  return (
    <Answer of={receipt.isPending ? { ...asked, data: undefined, isPending: true } : asked} rows={3} what={key}>
      {task => {
        const holder = task.assignee_id ? people.get(task.assignee_id) : undefined
        const agent = sends && holder?.agent && holder.active ? holder.name : null
        const send = async (text: string, key: string) => {
          const back = await take(
            api.POST('/api/v1/tasks/{id}/send-back', {
              params: { path: { id: task.id } },
              body: { text },
              headers: { 'Idempotency-Key': key },
            }),
          )
          putTask(cache, back)
          say(words.done(task.key, agent))
        }
        return (
          <>
            <p className="wrap-anywhere mb-3 font-medium">
              <bdi>{task.title}</bdi>
            </p>
            <WordsForm
              draft={['send-back', task.id]}
              help={agent ? words.help(agent) : words.helpNoAgent}
              label={words.label}
              onCancel={onDone}
              onDone={onDone}
              proposed={receipt.data?.gaps.map(g => g.text).join('\n')}
              send={send}
              submit={words.submit}
            />
          </>
        )
      }}
    </Answer>
  )
}
