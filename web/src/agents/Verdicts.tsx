import type { Schemas } from '../api/client'
import { money } from '../app/format'
import { receipts } from '../texts/receipts'

const words = receipts.verdicts

/** How many of an agent's finished tasks people approved and sent back, and what an approved one costs. */
export function Verdicts({ of }: { of: Schemas['AgentVerdicts'] }) {
  if (of.approved + of.sent_back === 0) return <p className="text-soft">{words.none}</p>
  const cost = money(of.cost_per_approved_usd)
  return (
    <p className="flex flex-wrap gap-x-3">
      <span>{words.approved(of.approved)}</span>
      {of.sent_back > 0 && <span>{words.sentBack(of.sent_back)}</span>}
      {of.approved > 0 && (
        <span className="text-soft">
          {words.cost}: {of.cost_complete || of.cost_per_approved_usd === null ? cost : words.atLeast(cost)}
        </span>
      )}
    </p>
  )
}
