import { type ReactNode, useRef } from 'react'
import { asProblem, Problem } from '../api/problem'
import { leads, useMe } from '../app/queries'
import { useTitle } from '../app/title'
import { settings as words } from '../texts/settings'
import { IconButton } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { Icon } from '../ui/Icon'
import { SubmitForm } from '../ui/SubmitForm'
import { say, sayFailed } from '../ui/toast'
import { Answer, NotAllowed } from '../ui/Views'
import { copyText } from './copy'
import { PasswordField } from './PasswordField'

/** A page of Settings with its title, description, and actions. */
export function Part({
  id,
  actions,
  forAll = false,
  children,
}: {
  id: keyof typeof words.parts
  /** Shown only to the owner and admins, unless `forAll`. */
  actions?: ReactNode
  forAll?: boolean
  children: ReactNode
}) {
  const { name, about } = words.parts[id]
  const may = leads(useMe().data)
  useTitle(name, words.title)
  return (
    <>
      <div className="mb-3 flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          <h2 className="font-semibold text-xl">{name}</h2>
          <p className="text-soft">{about}</p>
        </div>
        {actions && (may || forAll) && <div className="flex flex-wrap gap-2">{actions}</div>}
      </div>
      {children}
    </>
  )
}

/** A titled section. */
export function Group({
  title,
  id,
  actions,
  children,
}: {
  title: string
  id?: string
  actions?: ReactNode
  children: ReactNode
}) {
  return (
    <section aria-label={title} className="hairline mb-4 rounded-md" id={id}>
      <div className="flex min-h-10 flex-wrap items-center justify-between gap-2 border-line border-b px-3 py-1.5">
        <h3 className="font-semibold">{title}</h3>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </div>
      <div className="flex flex-col gap-3 p-3">{children}</div>
    </section>
  )
}

/** Shows its children to the owner and admins, and a notice to others. */
export function ForLeads({ children }: { children: ReactNode }) {
  const me = useMe()
  return (
    <Answer of={me} rows={4} what={words.partsWhat.account}>
      {user => (leads(user) ? children : <NotAllowed detail={words.leads} />)}
    </Answer>
  )
}

/** A list of names and values. */
export function Facts({ of }: { of: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-1 gap-x-4 gap-y-1 sm:grid-cols-[10rem_1fr]">
      {of.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-soft">{name}</dt>
          <dd className="wrap-anywhere mb-1 min-w-0 sm:mb-0">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** A line of text with a copy button: a command, a setting, or a secret. */
export function Command({ text, label = words.gateway.command }: { text: string; label?: string }) {
  const code = useRef<HTMLElement>(null)
  const copy = async () => {
    if (await copyText(text, code.current)) say(words.copied)
    else sayFailed(new Problem({ code: 'copy_failed', title: words.copyFailed }))
  }
  return (
    <div className="hairline flex items-start gap-1 rounded-md bg-panel py-0.5 pr-0.5 pl-2">
      <code
        ref={code}
        className="wrap-anywhere font-mono min-w-0 grow select-all whitespace-pre-wrap py-1 text-xs leading-5"
      >
        {text}
      </code>
      <IconButton icon="copy" label={words.copyNamed(label)} onClick={() => void copy()} />
    </div>
  )
}

/** An error that doesn't belong to a field. */
export function Refusal({ error }: { error: unknown }) {
  const problem = error ? asProblem(error) : null
  if (!problem || problem.fields.length > 0 || refusedPassword(error)) return null
  return (
    <p className="wrap-anywhere text-danger" role="alert">
      {problem.status === 412 ? words.stale : problem.message}
    </p>
  )
}

/** Returns the validation error of a field. */
export const refused = (error: unknown, field: string): string | undefined =>
  error ? asProblem(error).of(field) : undefined

/** The field for the user's own password, which some changes require. */
export function OwnPassword({ error, help = words.users.yourPasswordHelp }: { error: unknown; help?: string }) {
  return (
    <PasswordField
      autoComplete="current-password"
      error={refusedPassword(error)}
      help={help}
      label={words.users.yourPassword}
      name="own-password"
    />
  )
}

const passwordCodes = ['password_required', 'wrong_password']

/** Returns the error about the current password, to show at its field. */
export function refusedPassword(error: unknown): string | undefined {
  const problem = error ? asProblem(error) : null
  return problem && passwordCodes.includes(problem.code) ? problem.message : undefined
}

/** Returns the value of the OwnPassword field, if the form has one. */
export const ownPassword = (form: FormData): { current_password?: string } => {
  const typed = form.get('own-password')
  return typeof typed === 'string' ? { current_password: typed } : {}
}

/** A confirmation dialog. */
export function Confirm({
  open,
  title,
  yes,
  busy,
  error,
  look = 'danger',
  onYes,
  onClose,
  children,
}: {
  open: boolean
  title: string
  yes: string
  busy: boolean
  error?: unknown
  look?: 'danger' | 'primary'
  onYes: (form: FormData) => void
  onClose: () => void
  children: ReactNode
}) {
  return (
    <Dialog onClose={onClose} open={open} title={title}>
      <SubmitForm busy={busy} look={look} onCancel={onClose} onSend={(_, form) => onYes(form)} submit={yes}>
        <div className="wrap-anywhere flex flex-col gap-2">{children}</div>
        <Refusal error={error} />
      </SubmitForm>
    </Dialog>
  )
}

/** A notice with an icon. */
export function Note({ tone, children }: { tone: 'attention' | 'danger' | 'info'; children: ReactNode }) {
  const look = {
    attention: 'bg-attention-tint text-attention',
    danger: 'bg-danger-tint text-danger',
    info: 'bg-idle-tint text-ink',
  }[tone]
  return (
    <div className={`flex items-start gap-2 rounded-md px-3 py-2 ${look}`}>
      <Icon className="mt-0.5" name={tone === 'info' ? 'info' : tone === 'danger' ? 'error' : 'warning'} />
      <div className="wrap-anywhere min-w-0 grow">{children}</div>
    </div>
  )
}
