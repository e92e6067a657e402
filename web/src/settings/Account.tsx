import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { api, ifMatch, take } from '../api/client'
import { asProblem } from '../api/problem'
import { leads, queries, useMe } from '../app/queries'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { Field } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { Answer } from '../ui/Views'
import { Facts, Group, Part, Refusal, refused, refusedPassword } from './Bits'
import { Devices } from './Devices'
import { PasswordField } from './PasswordField'
import type { User } from './rules'

const words = settings.account

export function AccountPart() {
  const me = useMe()
  return (
    <Part id="account">
      <Answer of={me} what={words.what}>
        {user => (
          <div className="grid grid-cols-1 items-start gap-x-4 lg:grid-cols-2">
            <div className="contents lg:block">
              <Group title={words.you}>
                <Facts
                  of={[
                    [words.email, <bdi key="email">{user.email}</bdi>],
                    [words.role, `${settings.roles[user.role]}: ${settings.rolesMay[user.role]}`],
                  ]}
                />
                {!leads(user) && <p className="text-soft text-xs">{words.emailHelp}</p>}
                <NameForm user={user} />
              </Group>
              <div className="max-lg:order-1">
                <Group title={words.password}>
                  <PasswordForm email={user.email} />
                </Group>
              </div>
            </div>
            <Devices />
          </div>
        )}
      </Answer>
    </Part>
  )
}

function NameForm({ user }: { user: User }) {
  const cache = useQueryClient()
  const [name, setName] = useState<string | null>(null)
  const save = useMutation({
    mutationFn: ({ name, version }: { name: string; version: number }) =>
      take(api.PATCH('/api/v1/auth/me', { params: { header: ifMatch(version) }, body: { name } })),
    onSuccess: next => {
      cache.setQueryData(queries.me.queryKey, next)
      setName(null)
      say(settings.saved)
    },
    // Someone else changed the account: reload it, so that saving again applies on top.
    onError: err => asProblem(err).status === 412 && cache.invalidateQueries({ queryKey: queries.me.queryKey }),
  })
  return (
    <SubmitForm
      className="max-w-md gap-2"
      onSend={() => save.mutate({ name: (name ?? user.name).trim(), version: user.version })}
    >
      <Field
        autoComplete="name"
        error={refused(save.error, 'name')}
        label={words.name}
        maxLength={100}
        onChange={e => setName(e.target.value)}
        required
        value={name ?? user.name}
      />
      <Refusal error={save.error} />
      <div>
        <Button busy={save.isPending} disabled={name === null || name.trim() === user.name} type="submit">
          {settings.save}
        </Button>
      </div>
    </SubmitForm>
  )
}

function PasswordForm({ email }: { email: string }) {
  const cache = useQueryClient()
  const form = useRef<HTMLFormElement>(null)
  const change = useMutation({
    mutationFn: (body: { current_password: string; new_password: string; sign_out_others: boolean }) =>
      take(api.POST('/api/v1/auth/password', { body })),
    onSuccess: next => {
      cache.setQueryData(queries.me.queryKey, next)
      form.current?.reset()
      change.reset()
      say(words.changed)
    },
    // Don't keep the password in the mutation cache.
    gcTime: 0,
  })
  return (
    <SubmitForm
      ref={form}
      className="max-w-md gap-3"
      onSend={(_, data) =>
        change.mutate({
          current_password: String(data.get('current')),
          new_password: String(data.get('next')),
          sign_out_others: data.has('others'),
        })
      }
    >
      {/* Tells password managers which account this is. */}
      <input autoComplete="username" hidden name="username" readOnly type="text" value={email} />
      <PasswordField
        autoComplete="current-password"
        error={refused(change.error, 'current_password') ?? refusedPassword(change.error)}
        label={words.current}
        name="current"
      />
      <PasswordField
        autoComplete="new-password"
        error={refused(change.error, 'new_password')}
        help={words.rule}
        label={words.next}
        name="next"
      />
      <label className="flex min-h-8 items-center gap-2 pointer-coarse:min-h-10">
        <input className="size-4 accent-accent" defaultChecked name="others" type="checkbox" />
        {words.signOutOthers}
      </label>
      <Refusal error={change.error} />
      <div>
        <Button busy={change.isPending} type="submit">
          {words.change}
        </Button>
      </div>
    </SubmitForm>
  )
}
