import { useMutation } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { api, take } from '../api/client'
import { asProblem } from '../api/problem'
import { useConfig } from '../app/config'
import { session } from '../app/session'
import { useTitle } from '../app/title'
import { login as loginWords } from '../texts/login'
import { buttonClass } from '../ui/Button'
import { Answer } from '../ui/Views'
import { Card } from './Card'
import { type Account, NewAccount } from './NewAccount'
import { useCountdown } from './useCountdown'

const registerRoute = getRouteApi('/register')

const words = loginWords.register

/** Self-registration, if enabled on the server. */
export function Register() {
  useTitle(words.title)
  const { back } = registerRoute.useSearch()
  const config = useConfig()
  const [wait, setWait] = useCountdown()
  const register = useMutation({
    mutationFn: (body: Account) => take(api.POST('/api/v1/auth/register', { body })),
    // The route redirects once there is a token.
    onSuccess: answer => session.signIn(answer.token),
    onError: err => setWait(asProblem(err).retryAfter ?? 0),
  })
  const problem = register.error ? asProblem(register.error) : null
  const sentence = problem ? `${problem.title} ${problem.detail}` : ''
  const named = register.variables?.name !== undefined
  return (
    <Card title={words.title}>
      <Answer of={config} rows={4} what={words.what}>
        {({ registration_enabled: open }) =>
          !open || problem?.code === 'registration_disabled' ? (
            <>
              <p className="mb-4">{words.closed}</p>
              <Link className={buttonClass('primary')} search={{ back }} to="/login">
                {words.toLogin}
              </Link>
            </>
          ) : (
            <>
              <NewAccount
                busy={register.isPending}
                onSubmit={account => register.mutate(account)}
                problem={problem}
                said={{
                  email: problem?.code === 'email_taken' ? sentence : undefined,
                  name: problem?.code === 'name_taken' ? (named ? sentence : words.nameNeeded) : undefined,
                }}
                submit={words.submit}
                wait={wait}
              />
              <p className="mt-4 text-soft text-xs">
                {words.have}{' '}
                <Link className="text-accent underline" search={{ back }} to="/login">
                  {words.toLogin}
                </Link>
              </p>
            </>
          )
        }
      </Answer>
    </Card>
  )
}
