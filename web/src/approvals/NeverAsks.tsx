import { useQuery } from '@tanstack/react-query'
import { approvals as words } from '../texts/approvals'
import { policyQuery } from './queries'

/** Says that the gateway's agents run commands without asking, and how to change that; nothing if some ask. */
export function NeverAsks() {
  const policy = useQuery(policyQuery).data
  if (policy?.mode !== 'full' || policy.agents.some(a => a.asks)) return null
  return (
    <p className="my-2 rounded-md bg-attention-tint px-3 py-2 text-attention">
      {words.neverAsks}. {words.toAsk} <code className="wrap-anywhere">{policy.setting}</code>
    </p>
  )
}
