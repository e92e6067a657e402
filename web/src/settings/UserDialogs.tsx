import { useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import { queries } from '../app/queries'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { Field, Select } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { Command, OwnPassword, ownPassword, Refusal, refused } from './Bits'
import { PasswordField } from './PasswordField'
import { makePassword, mayChange, needsPassword, type Role, type User } from './rules'
import { Secret } from './Secret'
import { useSave } from './useSave'

const words = settings.users
const roleChoices = (['user', 'admin', 'agent'] as const).map(r => ({
  value: r,
  label: settings.roles[r] ?? r,
}))

export function CreateUser({ me, open, onClose }: { me: User; open: boolean; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} open={open} title={words.add}>
      <UserForm me={me} onClose={onClose} user={null} />
    </Dialog>
  )
}

/** Edits an account, limited to what the user may change. */
export function EditUser({ user, me, onClose }: { user: User | undefined; me: User; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} open title={user ? words.editNamed(user.name) : words.gone}>
      {user ? <UserForm key={user.id} me={me} onClose={onClose} user={user} /> : <p>{words.goneText}</p>}
    </Dialog>
  )
}

function changed(was: User, data: FormData, role: Role, password: string): Schemas['AccountChange'] {
  const text = (name: string) => String(data.get(name) ?? '').trim()
  const agent = role === 'agent' ? text('agent_id') : null
  return {
    ...(text('email') !== was.email ? { email: text('email') } : {}),
    ...(text('name') !== was.name ? { name: text('name') } : {}),
    ...(role !== was.role ? { role } : {}),
    ...(agent !== was.agent_id ? { agent_id: agent } : {}),
    ...(password ? { password } : {}),
  }
}

/** A field for a new password, typed or generated. */
function NewPassword({
  label,
  help,
  error,
  value,
  onChange,
  required,
}: {
  label: string
  help: string
  error: string | undefined
  value: string
  onChange: (text: string) => void
  required: boolean
}) {
  return (
    <div className="flex flex-col items-start gap-2">
      <div className="w-full">
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
      <Button onClick={() => onChange(makePassword())}>{words.makeUp}</Button>
    </div>
  )
}

const kind = {
  create: (body: Schemas['AccountNewUser'], headers: { 'Idempotency-Key': string }) =>
    take(api.POST('/api/v1/users', { body, headers })),
  change: (id: string, body: Schemas['AccountChange'], header: { 'If-Match': string }) =>
    take(api.PATCH('/api/v1/users/{id}', { params: { path: { id }, header }, body })),
  words,
  stale: [queries.users.queryKey, queries.agents.queryKey],
}

/** A new account, or a changed one. A new password is shown once, to hand over. */
function UserForm({ user, me, onClose }: { user: User | null; me: User; onClose: () => void }) {
  // The form keeps the account it was opened with.
  const [was] = useState(user)
  const [role, setRole] = useState<Role>(user?.role ?? 'user')
  const [password, setPassword] = useState('')
  const [email, setEmail] = useState(user?.email ?? '')
  const [handingOver, setHandingOver] = useState(false)
  const save = useSave(kind, was, body => (body.password ? setHandingOver(true) : onClose()))
  if (handingOver) {
    return (
      <Secret
        done={texts.ui.close}
        lines={[
          [words.email, email.trim()],
          [words.password, password],
        ]}
        onDone={onClose}
        title={words.onceTitle}
        warning={words.once}
      />
    )
  }
  const may = user ? mayChange(me, user) : null
  if (may?.any === false) return <p>{words.ownerOnly}</p>
  const field = (name: string) => ({ autoComplete: 'off', error: refused(save.error, name), name })
  return (
    <SubmitForm
      busy={save.isPending}
      onCancel={onClose}
      onSend={(text, data) => {
        if (was) {
          const body = changed(was, data, role, password)
          return Object.keys(body).length === 0
            ? onClose()
            : save.mutate({ changed: { ...body, ...ownPassword(data) } })
        }
        const name = text('name')
        const agent = role === 'agent' ? { agent_id: text('agent_id') } : {}
        save.mutate({
          made: { email: email.trim(), role, password, ...(name ? { name } : {}), ...agent, ...ownPassword(data) },
        })
      }}
      submit={was ? settings.save : words.create}
    >
      {!was && <p className="text-soft">{words.noInvitations}</p>}
      <Field
        {...field('email')}
        autoFocus={!was}
        inputMode="email"
        label={words.email}
        maxLength={254}
        onChange={e => setEmail(e.target.value)}
        required
        spellCheck={false}
        value={email}
      />
      <Field
        {...field('name')}
        defaultValue={was?.name}
        help={was ? undefined : words.nameHelp}
        label={words.name}
        maxLength={100}
        required={was !== null}
      />
      {may === null || may.role ? (
        <Select
          choices={roleChoices}
          error={refused(save.error, 'role')}
          help={settings.rolesMay[role]}
          label={words.role}
          onChange={e => setRole(e.target.value as Role)}
          value={role}
        />
      ) : user?.role === 'owner' ? (
        <div className="flex flex-col gap-1 text-soft text-xs">
          <p>{words.ownerRole}</p>
          <Command text="wardroom user owner EMAIL" />
        </div>
      ) : (
        <p className="text-soft text-xs">{words.ownRole}</p>
      )}
      {role === 'agent' && (
        <Field
          {...field('agent_id')}
          defaultValue={was?.agent_id ?? ''}
          help={words.agentHelp}
          label={words.agent}
          maxLength={64}
          required
          spellCheck={false}
        />
      )}
      {user?.id !== me.id && (
        <NewPassword
          error={refused(save.error, 'password')}
          help={was ? words.resetHelp : settings.account.rule}
          label={was ? words.reset : words.password}
          onChange={setPassword}
          required={!was}
          value={password}
        />
      )}
      {needsPassword(was, { role, password, email: email.trim() }) && <OwnPassword error={save.error} />}
      <Refusal error={save.error} />
    </SubmitForm>
  )
}
