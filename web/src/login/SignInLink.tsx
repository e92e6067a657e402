import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { api, take } from '../api/client'
import { asProblem } from '../api/problem'
import { session } from '../app/session'
import { useTitle } from '../app/title'
import { login as loginWords } from '../texts/login'
import { buttonClass } from '../ui/Button'
import { Card } from './Card'
import { useLinkToken } from './linkToken'

const words = loginWords.link

/** Exchanges the token of a one-time link for a sign-in. The link works for one POST, so a prefetched page leaves it valid. */
export function SignInLink() {
  useTitle(loginWords.title)
  const token = useLinkToken()
  const navigate = useNavigate()
  const goOn = () => void navigate({ to: '/', replace: true })
  const { mutate, error } = useMutation({
    mutationFn: () => take(api.POST('/api/v1/auth/link', { body: { token } })),
    onSuccess: answer => {
      session.signIn(answer.token)
      goOn()
    },
    // A link that was used in this browser leads on.
    onError: () => session.token() !== null && goOn(),
  })
  const sent = useRef(false)
  useEffect(() => {
    if (!sent.current) mutate()
    sent.current = true
  }, [mutate])
  return (
    <Card title={loginWords.title}>
      {error ? (
        <>
          <p className="mb-4" role="alert">
            {asProblem(error).title} {asProblem(error).detail}
          </p>
          <Link className={buttonClass('primary')} to="/login">
            {words.toLogin}
          </Link>
        </>
      ) : (
        <p role="status">{words.busy}</p>
      )}
    </Card>
  )
}
