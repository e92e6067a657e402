import { Link } from '@tanstack/react-router'
import { leads, useMe } from '../app/queries'
import { mainKey } from '../sessions/outbox'
import { agents as agentTexts } from '../texts/agents'
import { buttonClass } from '../ui/Button'
import { Icon } from '../ui/Icon'
import type { Agent } from './agent'

const words = agentTexts

/** A link to the conversation with an agent, with the message field focused. It is only for users who may send. */
export function MessageLink({ to: a, small = false }: { to: Agent; small?: boolean }) {
  const may = leads(useMe().data)
  if (!may || a.in_runtime === false) return null
  return (
    <Link
      aria-label={small ? words.messageTo(a.name) : undefined}
      className={buttonClass(small ? 'quiet' : 'primary', small ? 'px-0' : '')}
      params={{ key: mainKey(a.agent_id) }}
      search={{ compose: '1' }}
      title={small ? words.messageTo(a.name) : undefined}
      to="/sessions/$key"
    >
      <Icon name="comment" />
      {!small && words.messageTo(a.name)}
    </Link>
  )
}
