import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { WordsForm } from '../acting/WordsForm'
import { api, take } from '../api/client'
import { leads, useMe } from '../app/queries'
import { settingsQuery } from '../settings/queries'
import { agents as agentWords } from '../texts/agents'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { Icon } from '../ui/Icon'
import { TextLink } from '../ui/TextLink'
import { say, sayFailed } from '../ui/toast'
import type { Agent } from './agent'

const words = agentWords.hold

type Held = Pick<Agent, 'agent_id' | 'name' | 'hold'>

/** Asks for a reason and holds the agent. It is only for users who may control sessions. */
export function HoldButton({ of: a }: { of: Held }) {
  const cache = useQueryClient()
  const [open, setOpen] = useState(false)
  const may = leads(useMe().data)
  if (!may || a.hold) return null
  const close = () => setOpen(false)
  const send = async (reason: string) => {
    await take(
      api.POST('/api/v1/agents/{agent_id}/hold', { params: { path: { agent_id: a.agent_id } }, body: { reason } }),
    )
    void cache.invalidateQueries({ queryKey: ['agents'] })
    say(words.done(a.name))
  }
  return (
    <>
      <Button icon="pause" onClick={() => setOpen(true)}>
        {words.hold}
      </Button>
      <Dialog onClose={close} open={open} title={words.title(a.name)}>
        <WordsForm
          draft={['hold', a.agent_id]}
          help={words.help}
          label={words.reason}
          most={300}
          onCancel={close}
          onDone={close}
          send={send}
          submit={words.title(a.name)}
        >
          <OnlyHere />
        </WordsForm>
      </Dialog>
    </>
  )
}

/** Says that the runtime itself does not hold agents, with a link to the setting; nothing if it may. */
function OnlyHere() {
  const is = useQuery(settingsQuery).data
  if (!is || is.holds.in_runtime) return null
  return (
    <p className="rounded-md bg-attention-tint px-3 py-2 text-attention">
      {words.onlyHere}{' '}
      <TextLink className="underline" href="/settings/gateway#holds">
        {words.allow}
      </TextLink>
    </p>
  )
}

/** Who holds the agent and why, what the runtime does, and the way out. */
export function HeldNotice({ of: a }: { of: Held }) {
  const cache = useQueryClient()
  const may = leads(useMe().data)
  const release = useMutation({
    mutationFn: () =>
      take(api.POST('/api/v1/agents/{agent_id}/release', { params: { path: { agent_id: a.agent_id } } })),
    onSuccess: () => say(words.releasing(a.name)),
    onError: err => sayFailed(err),
    onSettled: () => cache.invalidateQueries({ queryKey: ['agents'] }),
  })
  const h = a.hold
  if (!h) return null
  return (
    <div
      className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-md bg-attention-tint px-3 py-2"
      data-held={h.state}
    >
      <div className="wrap-anywhere min-w-0 grow basis-60">
        <p className="flex items-start gap-1.5 font-medium">
          <Icon className="mt-0.5 shrink-0 text-attention" name="pause" />
          <span>
            {words.by(h.by)} <Age at={h.since} />: <bdi>{h.reason}</bdi>
          </span>
        </p>
        <p className="text-soft text-xs">
          {h.state === 'releasing' ? words.restoring : words.runtime[h.runtime]} <bdi>{h.detail}</bdi>
        </p>
      </div>
      {may && h.state === 'held' && (
        <Button busy={release.isPending} onClick={() => release.mutate()}>
          {words.release(a.name)}
        </Button>
      )}
    </div>
  )
}
