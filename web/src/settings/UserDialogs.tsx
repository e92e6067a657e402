import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ifMatch, newKey, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { queries } from '../app/queries'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { Field, Select } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { Command, OwnPassword, ownPassword, Refusal, refused } from './Bits'
import { PasswordField } from './PasswordField'
import { makePassword, mayChange, needsPassword, type Role, type User } from './rules'
import { Secret } from './Secret'

const words = settings.users
const roleChoices = (['user', 'admin', 'agent'] as const).map(r => ({
  value: r,
  label: settings.roles[r] ?? r,
}))

export function CreateUser({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} open={open} title={words.create}>
      <CreateForm onClose={onClose} />
    </Dialog>
  )
}

type Made = { email: string; password: string; name: string }

function CreateForm({ onClose }: { onClose: () => void }) {
  const cache = useQueryClient()
  const [role, setRole] = useState<Role>('user')
  const [password, setPassword] = useState('')
  // The new account's password lives only in this state.
  const [made, setMade] = useState<Made | null>(null)
  const [key, setKey] = useState(newKey)
  const create = useMutation({
    mutationFn: (body: Schemas['AccountNewUser']) =>
      take(api.POST('/api/v1/users', { body, headers: { 'Idempotency-Key': key } })),
    onSuccess: (user, body) => {
      cache.setQueryData<User[]>(queries.users.queryKey, was => was && [...was.filter(u => u.id !== user.id), user])
      void cache.invalidateQueries({ queryKey: queries.agents.queryKey })
      say(words.created(user.name))
      setMade({ email: user.email, password: body.password, name: user.name })
    },
    onError: err => asProblem(err).status > 0 && setKey(newKey()),
    gcTime: 0,
  })
  if (made) {
    return (
      <Secret
        done={texts.ui.close}
        lines={[
          [words.email, made.email],
          [words.password, made.password],
        ]}
        onDone={onClose}
        title={words.onceTitle}
        warning={words.once}
      />
    )
  }
  return (
    <SubmitForm
      busy={create.isPending}
      onCancel={onClose}
      onSend={(text, data) => {
        const name = text('name')
        create.mutate({
          email: text('email'),
          role,
          password,
          ...(name ? { name } : {}),
          ...(role === 'agent' ? { agent_id: text('agent') } : {}),
          ...ownPassword(data),
        })
      }}
      submit={words.create}
    >
      <p className="text-soft">{words.handOver}</p>
      <Field
        autoComplete="off"
        autoFocus
        error={refused(create.error, 'email')}
        inputMode="email"
        label={words.email}
        maxLength={254}
        name="email"
        required
        spellCheck={false}
      />
      <Field
        autoComplete="off"
        error={refused(create.error, 'name')}
        help={words.nameHelp}
        label={words.name}
        maxLength={100}
        name="name"
      />
      <Select
        choices={roleChoices}
        error={refused(create.error, 'role')}
        help={settings.rolesMay[role]}
        label={words.role}
        onChange={e => setRole(e.target.value as Role)}
        value={role}
      />
      {role === 'agent' && (
        <Field
          autoComplete="off"
          error={refused(create.error, 'agent_id')}
          help={words.agentHelp}
          label={words.agent}
          maxLength={64}
          name="agent"
          required
          spellCheck={false}
        />
      )}
      <NewPassword
        error={refused(create.error, 'password')}
        label={words.password}
        onChange={setPassword}
        required
        value={password}
      />
      {needsPassword(null, { role }) && <OwnPassword error={create.error} />}
      <Refusal error={create.error} />
    </SubmitForm>
  )
}

/** A field for a new password, typed or generated. */
function NewPassword({
  label,
  help = settings.account.rule,
  error,
  value,
  onChange,
  required,
}: {
  label: string
  help?: string
  error: string | undefined
  value: string
  onChange: (text: string) => void
  required: boolean
}) {
  return (
    <div className="flex items-start gap-2">
      <div className="min-w-0 grow">
        <PasswordField
          autoComplete="new-password"
          error={error}
          help={help}
          label={label}
          name="new-password"
          onChange={onChange}
          required={required}
          value={value}
        />
      </div>
      <Button className="mt-5 h-8" onClick={() => onChange(makePassword())}>
        {words.makeUp}
      </Button>
    </div>
  )
}

/** Edits an account, limited to what the user may change. */
export function EditUser({ user, me, onClose }: { user: User | undefined; me: User; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} open title={user ? words.editNamed(user.name) : words.gone}>
      {user ? <EditForm key={user.id} me={me} onClose={onClose} user={user} /> : <p>{words.goneText}</p>}
    </Dialog>
  )
}

function changed(was: User, data: FormData, role: Role, password: string): Schemas['AccountChange'] {
  const text = (name: string) => String(data.get(name) ?? '').trim()
  const agent = role === 'agent' ? text('agent') : null
  return {
    ...(text('email') !== was.email ? { email: text('email') } : {}),
    ...(text('name') !== was.name ? { name: text('name') } : {}),
    ...(role !== was.role ? { role } : {}),
    ...(agent !== was.agent_id ? { agent_id: agent } : {}),
    ...(password ? { password } : {}),
  }
}

function EditForm({ user, me, onClose }: { user: User; me: User; onClose: () => void }) {
  const cache = useQueryClient()
  // The form keeps the version it was opened with.
  const [was] = useState(user)
  const may = mayChange(me, user)
  const [role, setRole] = useState<Role>(user.role)
  const [password, setPassword] = useState('')
  const [email, setEmail] = useState(user.email)
  const [version, setVersion] = useState(user.version)
  const [handOver, setHandOver] = useState<string | null>(null)
  const save = useMutation({
    mutationFn: (body: Schemas['AccountChange']) =>
      take(api.PATCH('/api/v1/users/{id}', { params: { path: { id: user.id }, header: ifMatch(version) }, body })),
    onSuccess: (next, body) => {
      cache.setQueryData<User[]>(queries.users.queryKey, was => was?.map(u => (u.id === next.id ? next : u)))
      void cache.invalidateQueries({ queryKey: queries.agents.queryKey })
      say(words.saved(next.name))
      if (body.password) setHandOver(body.password)
      else onClose()
    },
    onError: err => {
      const current = asProblem(err).facts.current_version
      if (typeof current === 'number') setVersion(current)
    },
    gcTime: 0,
  })
  if (handOver !== null) {
    return (
      <Secret
        done={texts.ui.close}
        lines={[
          [words.email, user.email],
          [words.password, handOver],
        ]}
        onDone={onClose}
        title={words.onceTitle}
        warning={words.once}
      />
    )
  }
  if (!may.any) return <p>{words.ownerOnly}</p>
  return (
    <SubmitForm
      busy={save.isPending}
      onCancel={onClose}
      onSend={(_, data) => {
        const body = changed(was, data, role, password)
        if (Object.keys(body).length === 0) return onClose()
        save.mutate({ ...body, ...ownPassword(data) })
      }}
      submit={settings.save}
    >
      <Field
        autoComplete="off"
        defaultValue={user.name}
        error={refused(save.error, 'name')}
        label={words.name}
        maxLength={100}
        name="name"
        required
      />
      <Field
        autoComplete="off"
        error={refused(save.error, 'email')}
        inputMode="email"
        label={words.email}
        maxLength={254}
        name="email"
        onChange={e => setEmail(e.target.value)}
        required
        spellCheck={false}
        value={email}
      />
      {may.role ? (
        <Select
          choices={roleChoices}
          error={refused(save.error, 'role')}
          help={settings.rolesMay[role]}
          label={words.role}
          onChange={e => setRole(e.target.value as Role)}
          value={role}
        />
      ) : user.role === 'owner' ? (
        <div className="flex flex-col gap-1 text-soft text-xs">
          <p>{words.ownerRole}</p>
          <Command text="wardroom user owner EMAIL" />
        </div>
      ) : (
        <p className="text-soft text-xs">{words.ownRole}</p>
      )}
      {role === 'agent' && (
        <Field
          autoComplete="off"
          defaultValue={user.agent_id ?? ''}
          error={refused(save.error, 'agent_id')}
          help={words.agentHelp}
          label={words.agent}
          maxLength={64}
          name="agent"
          required
          spellCheck={false}
        />
      )}
      {user.id !== me.id && (
        <NewPassword
          error={refused(save.error, 'password')}
          help={words.resetHelp}
          label={words.reset}
          onChange={setPassword}
          required={false}
          value={password}
        />
      )}
      {needsPassword(was, { role, password, email: email.trim() }) && <OwnPassword error={save.error} />}
      <Refusal error={save.error} />
    </SubmitForm>
  )
}
