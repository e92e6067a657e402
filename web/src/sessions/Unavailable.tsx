import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { asProblem } from '../api/problem'
import { queries } from '../app/queries'
import { texts } from '../texts'
import { sessions as sessionsWords } from '../texts/sessions'
import { Age } from '../ui/Age'
import { buttonClass } from '../ui/Button'
import { Icon } from '../ui/Icon'
import { Empty } from '../ui/Views'

const words = sessionsWords

/** Returns whether an error means that the gateway is unavailable, rather than a failure here. */
export function isAway(error: unknown): boolean {
  const { code } = asProblem(error)
  return code === 'missing_scope' || (code.startsWith('gateway_') && code !== 'gateway_refused')
}

/** Explains why live sessions are unavailable, with a link to fix it. */
export function Unavailable({ error, children }: { error: unknown; children?: ReactNode }) {
  const status = useQuery(queries.gateway).data
  const problem = asProblem(error)
  const title = problem.code === 'missing_scope' ? words.missingScope : words.away.title
  return (
    <Empty
      action={
        <span className="flex flex-wrap justify-center gap-2">
          <Link className={buttonClass('primary')} to="/settings">
            <Icon name="settings" />
            {words.away.settings}
          </Link>
          <Link className={buttonClass()} search={{ show: 'history' }} to="/sessions">
            {words.away.history}
          </Link>
        </span>
      }
      icon="off"
      title={title}
    >
      <p>{problem.code === 'gateway_not_configured' ? words.away.not_configured : words.away.text}</p>
      <p className="wrap-anywhere mt-2">
        {problem.title} {problem.detail}
      </p>
      {status && status.state !== 'connected' && (
        <p className="mt-2 text-xs">
          {texts.app.live.gateway[status.state] ?? status.state} · <Age at={status.since} />
        </p>
      )}
      {children}
    </Empty>
  )
}

/** A banner above data from the last contact. */
export function UnavailableLine() {
  return (
    <p className="flex flex-wrap items-center gap-x-2 bg-attention-tint px-3 py-1 text-attention text-xs" role="status">
      <Icon className="size-3.5" name="off" />
      {words.away.shown}
      <Link className="underline" to="/settings">
        {words.away.settings}
      </Link>
    </p>
  )
}
