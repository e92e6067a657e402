import type { FormEvent, ReactNode } from 'react'
import type { Problem } from '../api/problem'
import { login as loginWords } from '../texts/login'
import { Button } from '../ui/Button'
import { Field } from '../ui/Field'
import { Password } from './Card'

const words = loginWords.account

/** The form data of a new account. */
export interface Account {
  email: string
  name?: string
  password: string
}

/** Reads the form. An empty name is omitted. */
function read(form: HTMLFormElement): Account & { text: (name: string) => string } {
  const data = new FormData(form)
  const text = (name: string) => String(data.get(name) ?? '').trim()
  const name = text('name')
  return { email: text('email'), password: String(data.get('password')), ...(name ? { name } : {}), text }
}

interface Props {
  problem: Problem | null
  /** Errors about the whole request that belong to a field. */
  said?: { email?: string | undefined; name?: string | undefined }
  /** Seconds until the next attempt is allowed. */
  wait: number
  busy: boolean
  submit: string
  /** Receives the account, and a function that reads other fields by name. */
  onSubmit: (account: Account, text: (name: string) => string) => void
  /** Fields shown first. */
  children?: ReactNode
}

/** The form for a new account. It keeps its input when the server refuses it. */
export function NewAccount({ problem, said = {}, wait, busy, submit, onSubmit, children }: Props) {
  const email = problem?.of('email') ?? said.email
  const name = problem?.of('name') ?? said.name
  const send = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault()
    if (wait > 0) return
    const { text, ...account } = read(e.currentTarget)
    onSubmit(account, text)
  }
  return (
    <form className="flex flex-col gap-4" onSubmit={send}>
      {children}
      <Field
        autoCapitalize="none"
        autoComplete="username"
        autoFocus={!children}
        error={email}
        inputMode="email"
        label={loginWords.email}
        maxLength={254}
        name="email"
        required
        spellCheck={false}
      />
      <Field autoComplete="name" error={name} help={words.nameHelp} label={words.name} maxLength={100} name="name" />
      <Password
        autoComplete="new-password"
        error={problem?.of('password')}
        help={words.passwordHelp}
        label={loginWords.password}
      />
      {problem && problem.fields.length === 0 && !email && !name && (
        <p className="text-danger" role="alert">
          {wait > 0 ? loginWords.wait(wait) : `${problem.title} ${problem.detail}`}
        </p>
      )}
      <Button busy={busy || wait > 0} className="h-9" look="primary" type="submit">
        {submit}
      </Button>
    </form>
  )
}
