import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import * as clock from '../app/clock'
import { useTicking } from '../app/clock'
import { day } from '../app/format'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { Field, Select } from '../ui/Field'
import { State } from '../ui/State'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { Answer } from '../ui/Views'
import { Ago, Confirm, Refusal, refused } from './Bits'
import { keysQuery } from './queries'
import { expiresAt, type Key, keyState, type User } from './rules'
import { Secret } from './Secret'

const words = settings.agents

/** The keys of an agent, including expired and revoked ones. */
export function Keys({ account }: { account: User }) {
  const asked = useQuery(keysQuery(account.id))
  const [making, setMaking] = useState(false)
  const [revoking, setRevoking] = useState<Key | null>(null)
  return (
    <section aria-label={words.keysOf(account.name)} className="border-line border-t bg-panel py-2 pr-3 pl-[3.25rem]">
      <Answer of={asked} rows={2} what={words.keysWhat}>
        {keys => (
          <>
            {keys.length === 0 && <p className="py-1 text-soft">{words.noKeys}</p>}
            <ul aria-label={words.keysOf(account.name)} className="divide-y divide-line">
              {[...keys].reverse().map(k => (
                <Row key={k.id} of={k} onRevoke={() => setRevoking(k)} />
              ))}
            </ul>
          </>
        )}
      </Answer>
      <Button className="mt-2" disabled={!account.active} icon="plus" onClick={() => setMaking(true)}>
        {words.addKey}
      </Button>
      <Dialog onClose={() => setMaking(false)} open={making} title={`${words.addKey}: ${account.name}`}>
        <NewKey account={account} onClose={() => setMaking(false)} />
      </Dialog>
      <Revoke account={account} onClose={() => setRevoking(null)} revoking={revoking} />
    </section>
  )
}

function Row({ of: k, onRevoke }: { of: Key; onRevoke: () => void }) {
  const state = useTicking(now => keyState(k, now))
  const works = state === 'works'
  const end = works ? (k.expires_at ? `${words.ends} ${day(k.expires_at)}` : words.endsNever) : null
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5" data-key={k.id}>
      <div className="min-w-0 grow basis-40">
        <p className="wrap-anywhere">
          <bdi>{k.name}</bdi> <span className="wrap-anywhere font-mono text-soft text-xs">{k.hint}</span>
        </p>
        <p className="text-soft text-xs">
          {k.last_used_at ? <Used at={k.last_used_at} /> : words.unused}
          {' · '}
          {words.made} <Ago at={k.created_at} />
          {end && (
            <>
              {' · '}
              {end}
            </>
          )}
        </p>
      </div>
      {!works && (
        <State icon="off" tone="idle">
          {words.keyState[state]}
        </State>
      )}
      {works && (
        <Button aria-label={words.revokeNamed(k.name)} look="danger" onClick={onRevoke}>
          {words.askRevoke}
        </Button>
      )}
    </li>
  )
}

/** When a key was last used. */
export const Used = ({ at }: { at: string }) => (
  <>
    {words.used} <Ago at={at} />
  </>
)

/** Creates a key and passes its secret to `onSecret`. The cache keeps only what the key list shows. */
export function useMakeKey(onSecret: (secret: string) => void) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async ({ user, body }: { user: string; body: Schemas['AccountNewKey'] }): Promise<Key> => {
      const { key, ...rest } = await take(api.POST('/api/v1/users/{id}/keys', { params: { path: { id: user } }, body }))
      onSecret(key)
      return rest
    },
    onSuccess: (_, { user }) => cache.invalidateQueries({ queryKey: keysQuery(user).queryKey }),
  })
}

/** The form for a new key, which then shows the key once. */
function NewKey({ account, onClose }: { account: User; onClose: () => void }) {
  const [secret, setSecret] = useState<string | null>(null)
  const make = useMakeKey(setSecret)
  if (secret !== null) {
    return (
      <Secret
        done={words.done}
        lines={[
          [words.onceTitle, secret],
          [words.header, `Authorization: Bearer ${secret}`],
        ]}
        onDone={onClose}
        title={words.onceTitle}
        warning={words.once}
      />
    )
  }
  return (
    <SubmitForm
      busy={make.isPending}
      onCancel={onClose}
      onSend={text => {
        const expires = expiresAt(Number(text('days')), clock.now())
        make.mutate({
          user: account.id,
          body: { name: text('name'), ...(expires ? { expires_at: expires } : {}) },
        })
      }}
      submit={words.newKey}
    >
      <Field
        autoComplete="off"
        autoFocus
        error={refused(make.error, 'name')}
        help={words.keyNameHelp}
        label={words.keyName}
        maxLength={100}
        name="name"
        required
      />
      <Select
        choices={['30', '90', '365', '0'].map(d => ({ value: d, label: words.expiry[d] ?? d }))}
        defaultValue="90"
        error={refused(make.error, 'expires_at')}
        label={words.expires}
        name="days"
      />
      <Refusal error={make.error} />
    </SubmitForm>
  )
}

function Revoke({ account, revoking, onClose }: { account: User; revoking: Key | null; onClose: () => void }) {
  const cache = useQueryClient()
  const revoke = useMutation({
    mutationFn: (k: Key) =>
      api.DELETE('/api/v1/users/{id}/keys/{key_id}', { params: { path: { id: account.id, key_id: k.id } } }),
    onSuccess: (_, k) => {
      say(words.revoked(k.name))
      void cache.invalidateQueries({ queryKey: keysQuery(account.id).queryKey })
      onClose()
    },
  })
  return (
    <Confirm
      of={revoke}
      onClose={onClose}
      onYes={() => revoking && revoke.mutate(revoking)}
      open={revoking !== null}
      title={words.revokeTitle(revoking?.name ?? '')}
      yes={words.revoke}
    >
      <p>{words.revokeText}</p>
    </Confirm>
  )
}
