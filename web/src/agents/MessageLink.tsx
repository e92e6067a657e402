import { Link } from '@tanstack/react-router'
import { leads, useMe } from '../app/queries'
import { mainKey } from '../sessions/outbox'
import { agents as words } from '../texts/agents'
import { buttonClass } from '../ui/Button'
import { Icon } from '../ui/Icon'
import type { Agent } from './agent'

/** A link to the conversation with an agent, with the message field focused. It is only for users who may send. */
export function MessageLink({ to: a, look = 'plain' }: { to: Agent; look?: 'plain' | 'primary' }) {
  const may = leads(useMe().data)
  if (!may || a.in_runtime === false) return null
  return (
    <Link
      aria-label={words.messageTo(a.name)}
      className={buttonClass(look)}
      params={{ key: mainKey(a.agent_id) }}
      search={{ compose: '1' }}
      to="/sessions/$key"
    >
      <Icon name="comment" />
      {words.message}
    </Link>
  )
}
