import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, take } from '../api/client'
import { asProblem } from '../api/problem'
import { standups } from '../texts/standups'
import { Dialog } from '../ui/Dialog'
import { TextArea } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { oneQuery } from './queries'
import type { Standup } from './standup'

const words = standups

interface Props {
  standup: Standup
  /** The participant's agent ID. */
  agent: string
  name: string
  onClose: () => void
}

/** The dialog that submits a report for a participant, who is then not asked. */
export function SubmitReport({ standup, agent, name, onClose }: Props) {
  const cache = useQueryClient()
  const [parts, setParts] = useState({ yesterday: '', today: '', blockers: '' })
  const send = useMutation({
    mutationFn: () =>
      take(
        api.PUT('/api/v1/standups/{id}/reports/{agent_id}', {
          params: { path: { id: standup.id, agent_id: agent } },
          body: Object.fromEntries(Object.entries(parts).filter(([, text]) => text.trim() !== '')),
        }),
      ),
    onSuccess: report => {
      cache.setQueryData<Standup>(oneQuery(standup.id).queryKey, was =>
        was ? { ...was, reports: was.reports.map(r => (r.agent_id === report.agent_id ? report : r)) } : was,
      )
      say(words.submitted)
      onClose()
    },
  })
  const problem = send.error ? asProblem(send.error) : null
  const isOver = standup.status !== 'running'
  const isEmpty = Object.values(parts).every(p => p.trim() === '')
  return (
    <Dialog onClose={onClose} open title={words.fileFor(name)} wide>
      <SubmitForm
        busy={send.isPending}
        disabled={isEmpty || isOver}
        onCancel={onClose}
        onSend={() => !isEmpty && !isOver && !send.isPending && send.mutate()}
        submit={words.fileSubmit}
      >
        <p className="text-soft">{words.fileText}</p>
        {isOver && (
          <p className="text-attention" role="alert">
            {words.fileOver}
          </p>
        )}
        {(['yesterday', 'today', 'blockers'] as const).map(part => (
          <TextArea
            key={part}
            autoFocus={part === 'yesterday'}
            error={problem?.of(part)}
            label={words.sections[part]}
            maxLength={50_000}
            onChange={e => setParts({ ...parts, [part]: e.target.value })}
            rows={3}
            value={parts[part]}
          />
        ))}
        {problem && !['yesterday', 'today', 'blockers'].some(p => problem.of(p)) && (
          <p className="text-danger" role="alert">
            {problem.message}
          </p>
        )}
      </SubmitForm>
    </Dialog>
  )
}
