import { nanos } from '../app/format'
import type { Blocker, Standup } from './standup'

/** A difference between a standup and the previous one. */
export type Difference =
  | { kind: 'blocker_new' | 'blocker_gone'; blocker: Blocker }
  | { kind: 'heard' | 'silent' | 'joined' | 'left'; agent: string; name: string }
  | { kind: 'cost'; by: string; up: boolean }
  | { kind: 'length'; by: number; up: boolean }

const sameBlocker = (a: Blocker, b: Blocker): boolean =>
  a.id !== null || b.id !== null ? a.id === b.id : a.agent_id === b.agent_id && a.text === b.text

const isIn = (b: Blocker, list: readonly Blocker[]): boolean => list.some(other => sameBlocker(b, other))

/** Returns the reported blockers. Decisions without a report don't count. */
const named = (s: Standup): Blocker[] => s.blockers.filter(b => b.id !== null || b.named_by.length > 0)

const tookMs = (s: Standup): number | null =>
  s.status === 'completed' && s.started_at && s.completed_at
    ? Date.parse(s.completed_at) - Date.parse(s.started_at)
    : null

/** Converts nano-dollars to a decimal string. */
function dollars(n: bigint): string {
  const digits = n.toString().padStart(10, '0')
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`
}

/** Smaller differences are ignored: in duration, in ms, and in cost, in nano-dollars. */
const noticed = { ms: 60_000, nanos: 10_000_000n }

/**
 * Returns the differences to the previous standup. While it runs, only those that are final: participants not yet asked
 * are not silent.
 */
export function differences(now: Standup, before: Standup): Difference[] {
  const out: Difference[] = []
  const over = now.status !== 'running'
  const [mine, theirs] = [named(now), named(before)]
  if (now.status === 'completed') {
    for (const b of mine) if (!isIn(b, theirs)) out.push({ kind: 'blocker_new', blocker: b })
    for (const b of theirs) if (!isIn(b, mine)) out.push({ kind: 'blocker_gone', blocker: b })
  }
  const was = new Map(before.reports.map(r => [r.agent_id, r]))
  for (const r of now.reports) {
    const then = was.get(r.agent_id)
    const who = { agent: r.agent_id, name: r.name }
    if (!then) out.push({ kind: 'joined', ...who })
    else if (r.status === 'answered' && then.status !== 'answered') out.push({ kind: 'heard', ...who })
    else if (over && r.status !== 'answered' && then.status === 'answered') out.push({ kind: 'silent', ...who })
  }
  for (const r of before.reports) {
    if (!now.reports.some(x => x.agent_id === r.agent_id)) out.push({ kind: 'left', agent: r.agent_id, name: r.name })
  }
  const [cost, costBefore] = [nanos(now.cost_usd), nanos(before.cost_usd)]
  if (over && cost !== null && costBefore !== null) {
    const up = cost > costBefore
    const by = up ? cost - costBefore : costBefore - cost
    if (by >= noticed.nanos) out.push({ kind: 'cost', by: dollars(by), up })
  }
  const [took, tookBefore] = [tookMs(now), tookMs(before)]
  if (took !== null && tookBefore !== null && Math.abs(took - tookBefore) >= noticed.ms) {
    out.push({ kind: 'length', by: Math.abs(took - tookBefore), up: took > tookBefore })
  }
  return out
}
