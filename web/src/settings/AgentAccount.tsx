import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, newKey, take } from '../api/client'
import { asProblem } from '../api/problem'
import { queries } from '../app/queries'
import { settings } from '../texts/settings'
import { Dialog } from '../ui/Dialog'
import { Field } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { Refusal, refused } from './Bits'
import { makePassword, type User } from './rules'

const words = settings.agents

export interface NewAgent {
  agentId: string
  name: string
  email: string
}

/** The email of an agent account. The domain doesn't exist, so no mail is sent. */
export const emailOf = (agentId: string): string => `${agentId}@agents.internal`

/** Creates an agent account with a random password that is never shown: agents use API keys. */
export function useCreateAgent() {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ of, key }: { of: NewAgent; key: string }): Promise<User> =>
      take(
        api.POST('/api/v1/users', {
          body: { email: of.email, name: of.name, role: 'agent', agent_id: of.agentId, password: makePassword() },
          headers: { 'Idempotency-Key': key },
        }),
      ),
    onSuccess: user => {
      cache.setQueryData<User[]>(queries.users.queryKey, was => was && [...was.filter(u => u.id !== user.id), user])
      void cache.invalidateQueries({ queryKey: queries.agents.queryKey })
    },
    gcTime: 0,
  })
}

/** The URL value for an agent that is in no list. It is not a valid agent ID. */
export const other = '+'

/** The dialog for a new agent account; closed if `agent` is undefined. */
export function AgentAccount({ agent, onClose }: { agent: string | undefined; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} open={agent !== undefined} title={words.createTitle}>
      <Form agent={agent === other ? '' : (agent ?? '')} key={agent} onClose={onClose} />
    </Dialog>
  )
}

function Form({ agent, onClose }: { agent: string; onClose: () => void }) {
  const name = useQuery(queries.agents).data?.find(a => a.agent_id === agent)?.name
  const [key, setKey] = useState(newKey)
  const [id, setId] = useState(agent)
  const create = useCreateAgent()
  return (
    <SubmitForm
      busy={create.isPending}
      onCancel={onClose}
      onSend={text => {
        create.mutate(
          {
            of: { agentId: id.trim(), name: text('name') || id.trim(), email: text('email') || emailOf(id.trim()) },
            key,
          },
          {
            onSuccess: user => {
              say(words.created(user.name))
              onClose()
            },
            onError: err => asProblem(err).status > 0 && setKey(newKey()),
          },
        )
      }}
      submit={words.create}
    >
      <p className="text-soft">{words.createText}</p>
      <Field
        autoComplete="off"
        autoFocus={agent === ''}
        error={refused(create.error, 'agent_id')}
        help={settings.users.agentHelp}
        label={settings.users.agent}
        maxLength={64}
        onChange={e => setId(e.target.value)}
        readOnly={agent !== ''}
        required
        spellCheck={false}
        value={id}
      />
      <Field
        autoComplete="off"
        defaultValue={name ?? ''}
        error={refused(create.error, 'name')}
        label={settings.users.name}
        maxLength={100}
        name="name"
      />
      <Field
        autoComplete="off"
        error={refused(create.error, 'email')}
        help={words.emailHelp}
        inputMode="email"
        label={settings.users.email}
        maxLength={254}
        name="email"
        placeholder={emailOf(id.trim() || 'agent')}
        spellCheck={false}
      />
      <Refusal error={create.error} />
    </SubmitForm>
  )
}
