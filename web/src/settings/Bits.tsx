import { type ReactNode, type RefObject, useRef, useState } from 'react'
import { asProblem, Problem } from '../api/problem'
import { useTicking } from '../app/clock'
import { leads, useMe } from '../app/queries'
import { useTitle } from '../app/title'
import { settings as words } from '../texts/settings'
import { Age } from '../ui/Age'
import { Button, IconButton } from '../ui/Button'
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
    <div>
      <div className="mb-3 flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          <h2 className="font-semibold text-xl">{name}</h2>
          <p className="text-soft max-md:hidden">{about}</p>
        </div>
        {actions && (may || forAll) && <div className="flex flex-wrap gap-2">{actions}</div>}
      </div>
      {children}
    </div>
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
      <div className="flex min-h-11 flex-wrap items-center justify-between gap-2 border-line border-b px-3 py-1.5">
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
    <dl className="grid grid-cols-[6.5rem_1fr] gap-x-4 gap-y-1 sm:grid-cols-[8rem_1fr]">
      {of.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-soft">{name}</dt>
          <dd className="wrap-anywhere min-w-0">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Returns a function that copies a text, or else selects it in the element, and says so. */
function useCopy(text: string, shown: RefObject<HTMLElement | null>): () => void {
  return () =>
    void copyText(text, shown.current).then(copied =>
      copied ? say(words.copied) : sayFailed(new Problem({ code: 'copy_failed', title: words.copyFailed })),
    )
}

/** A line of text with a copy button: a command, a setting, or a secret. */
export function Command({ text, label = words.gateway.command }: { text: string; label?: string }) {
  const code = useRef<HTMLElement>(null)
  const copy = useCopy(text, code)
  return (
    <div className="hairline flex items-start gap-1 rounded-md bg-panel py-0.5 pr-0.5 pl-2">
      <code
        ref={code}
        className="wrap-anywhere font-mono min-w-0 grow select-all whitespace-pre-wrap py-1 text-xs leading-5"
      >
        {text}
      </code>
      <IconButton icon="copy" label={words.copyNamed(label)} onClick={copy} />
    </div>
  )
}

/** Lines of code, of which the first are shown except on a phone, with buttons that copy and show all of them. */
export function CodeBlock({ text, label }: { text: string; label: string }) {
  const code = useRef<HTMLElement>(null)
  const copy = useCopy(text, code)
  const [all, setAll] = useState(false)
  const height = all ? 'py-2' : 'mt-2 max-h-40 overflow-y-hidden max-sm:hidden' // cut between two lines
  return (
    <div className="hairline overflow-hidden rounded-md bg-panel">
      <div className="flex items-center justify-between border-line border-b py-1 pr-1 pl-3">
        <span className="text-soft text-xs">{label}</span>
        <Button aria-label={words.copyNamed(label)} icon="copy" onClick={copy}>
          {words.copy}
        </Button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable, so it must be focusable */}
      <pre className={`overflow-x-auto px-3 text-xs leading-5 ${height}`} tabIndex={0}>
        <code className="font-mono" ref={code}>
          {text}
        </code>
      </pre>
      {!all && (
        <div className="border-line border-t p-1">
          <Button icon="chevron" look="quiet" onClick={() => setAll(true)}>
            {words.showLines(text.split('\n').length)}
          </Button>
        </div>
      )}
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

/** A dialog that confirms a mutation. */
export function Confirm({
  open,
  title,
  yes,
  of,
  look = 'danger',
  onYes,
  onClose,
  children,
}: {
  open: boolean
  title: string
  yes: string
  of: { isPending: boolean; error: unknown; reset: () => void }
  look?: 'danger' | 'primary'
  onYes: (form: FormData) => void
  onClose: () => void
  children: ReactNode
}) {
  const close = () => {
    of.reset()
    onClose()
  }
  return (
    <Dialog onClose={close} open={open} title={title}>
      <SubmitForm busy={of.isPending} look={look} onCancel={close} onSend={(_, form) => onYes(form)} submit={yes}>
        <div className="wrap-anywhere flex flex-col gap-2">{children}</div>
        <Refusal error={of.error} />
      </SubmitForm>
    </Dialog>
  )
}

/** How long ago a moment was; within the last minute it was just now. */
export function Ago({ at }: { at: string }) {
  const recent = useTicking(now => now - Date.parse(at) < 60_000)
  if (recent) return <time dateTime={at}>{words.gateway.seenNow}</time>
  return (
    <>
      <Age at={at} /> {words.agents.ago}
    </>
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
