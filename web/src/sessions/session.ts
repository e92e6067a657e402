import type { Schemas } from '../api/client'
import { sessions as sessionsTexts } from '../texts/sessions'
import { canonical } from './heard'

const words = sessionsTexts.called

export type Session = Schemas['Session']
export type Archived = Schemas['ArchiveD']

/** Whether a name in an address is an id of the archive; keys of the runtime look different. */
export const isArchiveId = (name: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(name)

/** What a key says of the session, by the names that this service and the runtime give; the ledger of usage reads them alike. */
export function partsOf(key: string): { task?: string; job?: string } {
  const task = /^agent:[^:]+:task:([a-z][a-z0-9]*-\d+)(?::|$)/i.exec(key)?.[1]
  const job = /^agent:[^:]+:cron:([^:]+)/i.exec(key)?.[1]
  return { ...(task ? { task: task.toUpperCase() } : {}), ...(job ? { job: canonical(job) } : {}) }
}

/**
 * What people call it: its label, else what its key says that it is for, else the
 * key without what the agent's column says.
 */
export function nameOf(s: { key: string; label: string | null; agent_id: string }): string {
  const prefix = `agent:${s.agent_id}:`
  const rest = canonical(s.key).startsWith(canonical(prefix)) ? s.key.slice(prefix.length) : ''
  // A label that only repeats the key is the runtime's, and nobody's word for it.
  const own = s.label?.trim() && ![s.key, rest].some(k => canonical(k) === canonical(s.label ?? ''))
  if (own && s.label) return s.label
  const { task, job } = partsOf(s.key)
  if (task) return task
  if (job) return words.ofJob
  const [, standup] = /^agent:[^:]+:standup:(\d{4}-\d{2}-\d{2})(?::|$)/i.exec(s.key) ?? []
  if (standup) return words.ofStandup(standup)
  if (/^agent:[^:]+:main$/i.test(s.key)) return words.main
  if (/^agent:[^:]+:subagent:/i.test(s.key)) return words.ofSubAgent
  return rest || s.key
}

export type Standing = 'stalled' | 'active' | 'failed' | 'timeout' | 'killed' | 'rests'

/** What a session is doing, in our words; the runtime's own are many. */
export function standing(s: { active: boolean; status: string | null; stalled?: boolean }): Standing {
  if (s.active) return s.stalled ? 'stalled' : 'active'
  return s.status === 'failed' || s.status === 'timeout' || s.status === 'killed' ? s.status : 'rests'
}

export interface LiveFilters {
  q?: string | undefined
  agent?: string | undefined
  kind?: string | undefined
  state?: 'active' | 'resting' | 'stalled' | undefined
}

/** Whether a session is among those that were asked for. */
export function fits(s: Session, f: LiveFilters): boolean {
  if (f.agent && s.agent_id !== f.agent) return false
  if (f.kind && s.kind !== f.kind) return false
  if (f.state === 'active' && !s.active) return false
  if (f.state === 'resting' && s.active) return false
  if (f.state === 'stalled' && !s.stalled) return false
  if (!f.q) return true
  const text = `${s.key}\n${s.label ?? ''}\n${s.last_message ?? ''}`.toLowerCase()
  return text.includes(f.q.toLowerCase())
}

/** A line of a list: a row, or what stands above some rows. */
export type Item<T> =
  | { type: 'row'; id: string; row: T; inJob: boolean }
  | { type: 'group'; id: string; name: string; count: number; active: number }
  | { type: 'job'; id: string; job: string; count: number; active: number; open: boolean }

interface Grouping {
  by: 'agent' | 'kind' | undefined
  /** Ids of the jobs whose runs are shown one by one. */
  open: ReadonlySet<string>
}

const activeOf = (rows: readonly Session[]) => rows.filter(r => r.active).length

/** The runs of one job as one line, which stands where the first of them is; a single run stands for itself. */
function withJobs(rows: readonly Session[], open: ReadonlySet<string>, group: string): Item<Session>[] {
  const runs = new Map<string, Session[]>()
  for (const row of rows) {
    const { job } = partsOf(row.key)
    if (job) runs.set(job, [...(runs.get(job) ?? []), row])
  }
  const items: Item<Session>[] = []
  const done = new Set<string>()
  for (const row of rows) {
    const { job } = partsOf(row.key)
    if (!job) {
      items.push({ type: 'row', id: row.key, row, inJob: false })
      continue
    }
    if (done.has(job)) continue
    done.add(job)
    const its = runs.get(job) ?? []
    if (its.length === 1) {
      items.push({ type: 'row', id: row.key, row, inJob: false })
      continue
    }
    const isOpen = open.has(job)
    const id = `${group}/${job}`
    items.push({ type: 'job', id, job, count: its.length, active: activeOf(its), open: isOpen })
    if (isOpen) items.push(...its.map(r => ({ type: 'row' as const, id: r.key, row: r, inJob: true })))
  }
  return items
}

/** The sessions in their order, under their agents or kinds where that is wanted, and runs under their jobs. */
export function arranged(rows: readonly Session[], { by, open }: Grouping): Item<Session>[] {
  if (!by) return withJobs(rows, open, '')
  const groups = new Map<string, Session[]>()
  for (const row of rows) {
    const name = (by === 'agent' ? row.agent_id : row.kind) ?? ''
    groups.set(name, [...(groups.get(name) ?? []), row])
  }
  return [...groups].flatMap(([name, its]) => [
    { type: 'group' as const, id: `group/${name}`, name, count: its.length, active: activeOf(its) },
    ...withJobs(its, open, name),
  ])
}
