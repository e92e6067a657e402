import { useMutation } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { api, take } from '../api/client'
import { asProblem } from '../api/problem'
import { useConfig } from '../app/config'
import { session } from '../app/session'
import { useTitle } from '../app/title'
import { login as loginWords } from '../texts/login'
import { Button, buttonClass } from '../ui/Button'
import { Field } from '../ui/Field'
import { Card, Password } from './Card'
import { useCountdown } from './useCountdown'

const loginRoute = getRouteApi('/login')

const words = loginWords

/** Why the user was signed out. */
const ended = { expired: words.expired, deactivated: words.deactivated, signed_out: words.signedOut }

export function Login() {
  useTitle(words.title)
  const { back } = loginRoute.useSearch()
  const config = useConfig().data
  const [wait, setWait] = useCountdown()
  const signIn = useMutation({
    mutationFn: (body: { email: string; password: string }) => take(api.POST('/api/v1/auth/login', { body })),
    // The route redirects once there is a token.
    onSuccess: answer => session.signIn(answer.token),
    onError: err => setWait(asProblem(err).retryAfter ?? 0),
  })
  const problem = signIn.error ? asProblem(signIn.error) : null
  const why = session.ended()
  return (
    <Card title={words.title}>
      {why && !problem && (
        <p className="mb-4 rounded-md bg-idle-tint px-3 py-2" role="status">
          {ended[why]}
        </p>
      )}
      {config?.setup_required && (
        <div className="mb-4 rounded-md bg-attention-tint px-3 py-2">
          <p>{words.noOwner}</p>
          <Link className={buttonClass('plain', 'mt-2')} to="/setup">
            {words.noOwnerAction}
          </Link>
        </div>
      )}
      <form
        className="flex flex-col gap-4"
        onSubmit={e => {
          e.preventDefault()
          if (wait > 0) return
          const form = new FormData(e.currentTarget)
          signIn.mutate({ email: String(form.get('email')), password: String(form.get('password')) })
        }}
      >
        <Field
          autoCapitalize="none"
          autoComplete="username"
          autoFocus
          inputMode="email"
          label={words.email}
          name="email"
          required
          spellCheck={false}
        />
        <Password autoComplete="current-password" label={words.password} />
        {problem && (
          <p className="text-danger" role="alert">
            {wait > 0 ? words.wait(wait) : `${problem.title} ${problem.status === 429 ? '' : problem.detail}`}
          </p>
        )}
        <Button busy={signIn.isPending || wait > 0} className="h-9" look="primary" type="submit">
          {words.submit}
        </Button>
      </form>
      {config?.registration_enabled && (
        <p className="mt-4 text-soft text-xs">
          {words.noAccount}{' '}
          <Link className="text-accent underline" search={{ back }} to="/register">
            {words.register.title}
          </Link>
        </p>
      )}
      {(config?.demo || !config?.registration_enabled) && (
        <p className="mt-4 text-soft text-xs">{config?.demo ? words.demoHint : words.help}</p>
      )}
    </Card>
  )
}
