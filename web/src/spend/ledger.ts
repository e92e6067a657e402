import type { Schemas } from '../api/client'

type Asked = Pick<Schemas['UsageReport'], 'from' | 'to' | 'ledger_begins_at'>

/**
 * Of how much of a period the ledger can tell. Before its first row nothing is
 * known, which is not the same as nothing used; one without a row begins now.
 */
export function knownOf(report: Asked, now: number): 'all' | 'part' | 'nothing' {
  const begins = report.ledger_begins_at === null ? now : Date.parse(report.ledger_begins_at)
  if (begins >= Date.parse(report.to)) return 'nothing'
  return begins > Date.parse(report.from) ? 'part' : 'all'
}
