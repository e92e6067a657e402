import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, newKey, take } from '../api/client'
import { queries } from '../app/queries'
import { settings } from '../texts/settings'
import { Dialog } from '../ui/Dialog'
import { Field } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { Refusal, refused } from './Bits'
import { makePassword, type User } from './rules'

const words = settings.agents

interface NewAgent {
  agentId: string
  name: string
  key: string
}

/** Returns an account to create, with the key of its request. */
export const newAgent = (agentId: string, name = agentId): NewAgent => ({ agentId, name, key: newKey() })

/** The email of an agent account. The domain doesn't exist, so no mail is sent. */
export const emailOf = (agentId: string): string => `${agentId}@agents.internal`

/** Creates an agent account with a random password that is never shown: agents use API keys. */
export function useCreateAgent() {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ agentId, name, key }: NewAgent): Promise<User> =>
      take(
        api.POST('/api/v1/users', {
          body: { email: emailOf(agentId), name, role: 'agent', agent_id: agentId, password: makePassword() },
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

/** The URL value that opens the dialog. */
export const other = '+'

/** The dialog for the account of an agent that is in no list. */
export function AgentAccount({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} open={open} title={words.add}>
      <Form onClose={onClose} />
    </Dialog>
  )
}

function Form({ onClose }: { onClose: () => void }) {
  const create = useCreateAgent()
  return (
    <SubmitForm
      busy={create.isPending}
      onCancel={onClose}
      onSend={text =>
        create.mutate(newAgent(text('agent')), {
          onSuccess: user => {
            say(words.created(user.name))
            onClose()
          },
        })
      }
      submit={words.create}
    >
      <p className="text-soft">{words.createText}</p>
      <Field
        autoComplete="off"
        autoFocus
        error={refused(create.error, 'agent_id')}
        help={settings.users.agentHelp}
        label={settings.users.agent}
        maxLength={64}
        name="agent"
        required
        spellCheck={false}
      />
      <Refusal error={create.error} />
    </SubmitForm>
  )
}
