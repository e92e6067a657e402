import type { Schemas } from '../api/client'

type Asked = Pick<Schemas['UsageReport'], 'from' | 'to' | 'ledger_begins_at' | 'followed_since'>

/**
 * Of how much of a period the ledger can tell. Before it begins nothing is known,
 * which is not the same as nothing used; one without a row begins now. Until the
 * runtime is followed it has what the runtime had kept: that much at least.
 */
export function knownOf(report: Asked, now: number): 'all' | 'least' | 'part' | 'nothing' {
  const at = (moment: string | null) => (moment === null ? now : Date.parse(moment))
  const begins = at(report.ledger_begins_at)
  if (begins >= Date.parse(report.to)) return 'nothing'
  if (begins > Date.parse(report.from)) return 'part'
  return at(report.followed_since) > Date.parse(report.from) ? 'least' : 'all'
}

/** Since when the runtime is followed, if a period, or the ledger in it, begins before that; else null. */
export function keptUntil(report: Asked): string | null {
  const { ledger_begins_at: begins, followed_since: since } = report
  if (begins === null || since === null) return null
  const first = Math.max(Date.parse(begins), Date.parse(report.from))
  return first < Math.min(Date.parse(since), Date.parse(report.to)) ? since : null
}
