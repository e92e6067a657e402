import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import { api, ifMatch, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { Field } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { Answer } from '../ui/Views'
import { Confirm, Facts, Group, Note, OwnPassword, ownPassword, Refusal, refused } from './Bits'
import { Findings } from './Doctor'
import { PasswordField } from './PasswordField'
import { doctorQuery, pairingQuery, settingsQuery } from './queries'
import { gatewayChange } from './rules'

const words = settings.gateway.access
type All = Schemas['Settings']
type Patch = Schemas['SettingsChange']

/** The gateway's address and token, with a form to change them. */
export function GatewaySettings() {
  const asked = useQuery(settingsQuery)
  return (
    <Answer of={asked} rows={3} what={words.what}>
      {is => <Access of={is} />}
    </Answer>
  )
}

/** Saves a change, and passes it on to the queries that depend on it. */
function useChange(version: number, onDone: (next: All) => void) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (body: Patch) => take(api.PATCH('/api/v1/settings', { params: { header: ifMatch(version) }, body })),
    onSuccess: next => {
      cache.setQueryData(settingsQuery.queryKey, next)
      // Earlier checks were about the previous gateway.
      void cache.resetQueries({ queryKey: doctorQuery.queryKey })
      void cache.invalidateQueries({ queryKey: pairingQuery.queryKey })
      onDone(next)
    },
    onError: err => asProblem(err).status === 412 && cache.invalidateQueries({ queryKey: settingsQuery.queryKey }),
    // Don't keep the token and the password in the mutation cache.
    gcTime: 0,
  })
}

function Access({ of: is }: { of: All }) {
  const [doing, setDoing] = useState<'edit' | 'remove' | null>(null)
  const { url, token } = is.gateway
  const remove = useChange(is.version, () => {
    setDoing(null)
    say(words.removed)
  })
  const editable = url.editable || token.editable
  const none = url.value === ''
  if (editable && (none || doing === 'edit')) {
    return (
      <Group title={none ? words.connect : words.title}>
        <AccessForm {...(none ? {} : { onCancel: () => setDoing(null) })} of={is} onSaved={() => setDoing(null)} />
      </Group>
    )
  }
  return (
    <Group
      actions={
        editable && (
          <>
            <Button onClick={() => setDoing('edit')}>{words.edit}</Button>
            {url.editable && (
              <Button look="danger" onClick={() => setDoing('remove')}>
                {words.remove}
              </Button>
            )}
          </>
        )
      }
      title={words.title}
    >
      <Facts
        of={[
          [words.address, <Origin key="url" of={url} text={url.value || words.notSet} />],
          [words.token, <Origin key="token" of={token} text={token.set ? words.isSet : words.notSet} />],
        ]}
      />
      <Details of={[url.detail, token.detail]} />
      <Confirm
        of={remove}
        onClose={() => setDoing(null)}
        onYes={form => remove.mutate({ gateway: { url: null }, ...ownPassword(form) })}
        open={doing === 'remove'}
        title={words.removeTitle}
        yes={words.remove}
      >
        <p>{words.removeText}</p>
        <OwnPassword error={remove.error} help="" />
      </Confirm>
    </Group>
  )
}

/** A value and where it comes from. */
function Origin({ of, text }: { of: { source: Schemas['SettingsAddress']['source'] }; text: string }) {
  return (
    <>
      <bdi className="wrap-anywhere">{text}</bdi> <span className="text-soft">{words.sources[of.source]}</span>
    </>
  )
}

/** Why values can't be changed or used. */
function Details({ of }: { of: string[] }): ReactNode {
  return [...new Set(of)]
    .filter(text => text !== '')
    .map(text => (
      <Note key={text} tone="info">
        <bdi>{text}</bdi>
      </Note>
    ))
}

function AccessForm({ of: is, onSaved, onCancel }: { of: All; onSaved: () => void; onCancel?: () => void }) {
  const { url, token } = is.gateway
  const [address, setAddress] = useState(url.value)
  const [secret, setSecret] = useState('')
  const form = useRef<HTMLFormElement>(null)
  const change = gatewayChange(is.gateway, address, secret)
  const save = useChange(is.version, () => {
    say(words.saved)
    onSaved()
  })
  const test = useMutation({
    mutationFn: (body: Patch) => take(api.POST('/api/v1/settings/test', { body })),
    onMutate: () => save.reset(),
    gcTime: 0,
  })
  const error = save.error ?? test.error
  const edited = (set: (text: string) => void) => (text: string) => {
    set(text)
    test.reset()
    save.reset()
  }
  const moved = address.trim() !== url.value
  return (
    <SubmitForm
      ref={form}
      className="max-w-xl gap-3"
      onSend={(_, data) => save.mutate({ gateway: change, ...ownPassword(data) })}
    >
      <Field
        autoComplete="off"
        disabled={!url.editable}
        error={refused(error, 'gateway/url')}
        help={url.editable ? words.addressHelp : url.detail}
        inputMode="url"
        label={words.address}
        maxLength={2000}
        name="url"
        onChange={e => edited(setAddress)(e.target.value)}
        required
        spellCheck={false}
        value={address}
      />
      {token.editable ? (
        <PasswordField
          autoComplete="off"
          error={refused(error, 'gateway/token')}
          help={token.set && !moved ? words.keepHelp : token.set ? words.againHelp : words.tokenHelp}
          label={words.token}
          name="token"
          onChange={edited(setSecret)}
          required={false}
          value={secret}
        />
      ) : (
        <Details of={[token.detail]} />
      )}
      <OwnPassword error={error} help={words.passwordHelp} />
      <Refusal error={error} />
      <div aria-live="polite">{test.data && <Findings of={test.data} />}</div>
      <div className="flex flex-wrap gap-2">
        <Button
          busy={test.isPending}
          onClick={() => {
            const fields = form.current
            if (fields?.reportValidity()) test.mutate({ gateway: change, ...ownPassword(new FormData(fields)) })
          }}
        >
          {words.test}
        </Button>
        <Button busy={save.isPending} look="primary" type="submit">
          {words.save}
        </Button>
        {onCancel && (
          <Button look="quiet" onClick={onCancel}>
            {texts.ui.cancel}
          </Button>
        )}
      </div>
    </SubmitForm>
  )
}
