import type { Schemas } from '../api/client'

type Asked = Pick<Schemas['UsageReport'], 'from' | 'to' | 'ledger_begins_at' | 'followed_since'>

/**
 * Returns how much of a period the ledger covers. Before `ledger_begins_at`, usage is unknown rather than zero. Before
 * `followed_since` it comes from the runtime's history, which may be incomplete (`least`).
 */
export function knownOf(report: Asked, now: number): 'all' | 'least' | 'part' | 'nothing' {
  const at = (moment: string | null) => (moment === null ? now : Date.parse(moment))
  const begins = at(report.ledger_begins_at)
  if (begins >= Date.parse(report.to)) return 'nothing'
  if (begins > Date.parse(report.from)) return 'part'
  return at(report.followed_since) > Date.parse(report.from) ? 'least' : 'all'
}

/** Returns `followed_since` if the period includes usage from before that time, else null. */
export function keptUntil(report: Asked): string | null {
  const { ledger_begins_at: begins, followed_since: since } = report
  if (begins === null || since === null) return null
  const first = Math.max(Date.parse(begins), Date.parse(report.from))
  return first < Math.min(Date.parse(since), Date.parse(report.to)) ? since : null
}
