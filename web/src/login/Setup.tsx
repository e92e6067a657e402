import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { api, take } from '../api/client'
import { asProblem } from '../api/problem'
import { useConfig } from '../app/config'
import { session } from '../app/session'
import { useTitle } from '../app/title'
import { login as loginWords } from '../texts/login'
import { buttonClass } from '../ui/Button'
import { Field } from '../ui/Field'
import { Card } from './Card'
import { useLinkToken } from './linkToken'
import { type Account, NewAccount } from './NewAccount'
import { useCountdown } from './useCountdown'

const words = loginWords.setup

/** Creates the owner account with the token printed in the terminal. */
export function Setup() {
  useTitle(words.title)
  const token = useLinkToken()
  const config = useConfig().data
  const navigate = useNavigate()
  const [wait, setWait] = useCountdown()
  const setup = useMutation({
    mutationFn: (body: Account & { token: string }) => take(api.POST('/api/v1/auth/setup', { body })),
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
      <NewAccount
        busy={setup.isPending}
        onSubmit={(account, text) => setup.mutate({ ...account, token: text('token') })}
        problem={problem}
        submit={words.submit}
        wait={wait}
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
      </NewAccount>
    </Card>
  )
}
