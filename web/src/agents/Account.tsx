import { leads, useMe } from '../app/queries'
import { agents as agentTexts } from '../texts/agents'
import { buttonClass } from '../ui/Button'
import { TextLink } from '../ui/TextLink'
import type { AgentDetails } from './agent'

const words = agentTexts.page

/** The agent's account, and where to manage it. */
export function Account({ page }: { page: AgentDetails }) {
  const me = useMe().data
  return (
    <div className="flex flex-col items-start gap-2">
      {page.account ? (
        <p>
          {words.hasAccount} <bdi className="font-medium">{page.account.name}</bdi>.
        </p>
      ) : (
        <p className="text-attention">{words.noAccount}</p>
      )}
      {leads(me) ? (
        <TextLink className={buttonClass()} href={`/settings/agents?agent=${encodeURIComponent(page.agent_id)}`}>
          {words.manage}
        </TextLink>
      ) : (
        <p className="text-soft">{words.whoManages}</p>
      )}
    </div>
  )
}
