import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { api, take } from '../api/client'
import { asProblem } from '../api/problem'
import { useConfig } from '../app/config'
import { session } from '../app/session'
import { useTitle } from '../app/title'
import { login as loginWords } from '../texts/login'
import { Button, buttonClass } from '../ui/Button'
import { Field } from '../ui/Field'
import { Card, Password } from './Card'
import { useWait } from './useWait'

const words = loginWords.setup

/** The token of the link stands behind #, which no server sees; it is taken out of the address at once. */
function useLinkToken(): string {
  const [token] = useState(() => location.hash.slice(1))
  useEffect(() => {
    if (location.hash) history.replaceState(history.state, '', location.pathname)
  }, [])
  return token
}

/** The first account, made by whoever has what the terminal shows. */
export function Setup() {
  useTitle(words.title)
  const token = useLinkToken()
  const config = useConfig().data
  const navigate = useNavigate()
  const [wait, setWait] = useWait()
  const setup = useMutation({
    mutationFn: (body: { token: string; email: string; name?: string; password: string }) =>
      take(api.POST('/api/v1/auth/setup', { body })),
    onSuccess: answer => {
      session.signIn(answer.token)
      void navigate({ to: '/welcome' })
    },
    onError: err => setWait(asProblem(err).retryAfter ?? 0),
  })
  const problem = setup.error ? asProblem(setup.error) : null
  if (config?.setup_required === false || problem?.code === 'setup_done') {
    return (
      <Card title={words.title}>
        <p className="mb-4">{words.done}</p>
        <Link className={buttonClass('primary')} to="/login">
          {words.toLogin}
        </Link>
      </Card>
    )
  }
  return (
    <Card title={words.title}>
      <p className="mb-4 text-soft">{words.intro}</p>
      <form
        className="flex flex-col gap-4"
        onSubmit={e => {
          e.preventDefault()
          if (wait > 0) return
          const form = new FormData(e.currentTarget)
          const text = (name: string) => String(form.get(name) ?? '').trim()
          const name = text('name')
          setup.mutate({
            token: text('token'),
            email: text('email'),
            password: String(form.get('password')),
            ...(name ? { name } : {}),
          })
        }}
      >
        <Field
          autoComplete="off"
          defaultValue={token}
          error={problem?.of('token')}
          help={words.tokenHelp}
          label={words.token}
          name="token"
          required
          spellCheck={false}
        />
        <Field
          autoComplete="username"
          error={problem?.of('email')}
          inputMode="email"
          label={loginWords.email}
          name="email"
          required
          spellCheck={false}
        />
        <Field
          autoComplete="name"
          error={problem?.of('name')}
          help={words.nameHelp}
          label={words.name}
          maxLength={100}
          name="name"
        />
        <Password
          autoComplete="new-password"
          error={problem?.of('password')}
          help={words.passwordHelp}
          label={loginWords.password}
        />
        {problem && problem.fields.length === 0 && (
          <p className="text-danger" role="alert">
            {wait > 0 ? loginWords.wait(wait) : `${problem.title} ${problem.detail}`}
          </p>
        )}
        <Button busy={setup.isPending || wait > 0} className="h-9" look="primary" type="submit">
          {words.submit}
        </Button>
      </form>
    </Card>
  )
}
