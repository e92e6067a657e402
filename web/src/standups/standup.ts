import type { Schemas } from '../api/client'
import { addDays } from '../app/days'

export type Standup = Schemas['Standup']
export type Brief = Schemas['StandupBrief']
export type Report = Schemas['StandupReport']
export type Line = Schemas['StandupLine']
export type Blocker = Schemas['StandupBlocker']

/** How a standup stands, told apart as far as people care: who cancelled one does not look for a fault. */
export type Stand = 'opened' | 'running' | 'completed' | 'error' | 'cancelled' | 'not_run'

export function standOf(s: Pick<Brief, 'status' | 'phase' | 'error'>): Stand {
  if (s.status === 'completed') return 'completed'
  if (s.status === 'running') return s.phase === 'opened' ? 'opened' : 'running'
  return s.error?.code === 'cancelled' || s.error?.code === 'not_run' ? s.error.code : 'error'
}

/** What a meeting that goes on is doing, of whom it waits for an answer, and since when. */
export interface Progress {
  now: 'opened' | 'gathering' | 'asking' | 'between' | 'reviewing'
  who: string | null
  since: string | null
  /** How many participants are through, however it ended with them. */
  done: number
  of: number
}

const isThrough = (r: Pick<Report, 'status'>): boolean => r.status !== 'pending' && r.status !== 'asked'

/** Null when nothing goes on. */
export function progressOf(s: Standup): Progress | null {
  if (s.status !== 'running') return null
  const count = { done: s.reports.filter(isThrough).length, of: s.reports.length }
  if (s.phase === 'opened') return { now: 'opened', who: null, since: s.created_at, ...count }
  if (s.phase === 'gathering') return { now: 'gathering', who: null, since: s.started_at, ...count }
  if (s.phase === 'reviewing' || s.phase === 'closed') {
    // What a former attempt asked does not say since when this one waits.
    const asked = s.transcript.findLast(
      l => l.kind === 'question' && l.to === s.facilitator && l.at >= (s.started_at ?? ''),
    )
    return { now: 'reviewing', who: s.facilitator, since: asked?.at ?? null, ...count }
  }
  const asked = s.reports.find(r => r.status === 'asked')
  if (asked) return { now: 'asking', who: asked.agent_id, since: asked.asked_at, ...count }
  return { now: 'between', who: null, since: null, ...count }
}

/** What can be done about a standup to have it held; null when it is going on or over. */
export function verbOf(s: Pick<Brief, 'status' | 'phase'>): 'run' | 'retry' | null {
  if (s.status === 'error') return 'retry'
  return s.status === 'running' && s.phase === 'opened' ? 'run' : null
}

const longestHead = 220

/** The first sentence of a summary, to be read before anything else, and what comes after it. */
export function headline(summary: string): { head: string; rest: string } {
  const text = summary.trim()
  const first = /^[^\n]*?[.!?](?=\s|$)|^[^\n]+/.exec(text)?.[0] ?? ''
  const isPlain = first.length <= longestHead && !/^[#>*\-\d`]|[*_`[\]<]/.test(first)
  // One that is marked up or goes on and on is left to the Markdown below.
  return isPlain ? { head: first, rest: text.slice(first.length).trim() } : { head: '', rest: text }
}

/** A day of the calendar, with what was held on it. */
export interface Day {
  date: string
  standup: Brief | null
}

/** So many days up to and with `until`, the oldest first; those without a standup are there too. */
export function calendar(until: string, count: number, standups: readonly Brief[]): Day[] {
  const of = new Map(standups.map(s => [s.date, s]))
  return Array.from({ length: count }, (_, i) => {
    const date = addDays(until, i - count + 1)
    return { date, standup: of.get(date) ?? null }
  })
}

/** A line of the transcript with what a reader has to know about it. */
export interface Said {
  line: Line
  /** Which attempt it belongs to, from 1. */
  attempt: number
  /** Whether a new attempt begins with it. */
  begins: boolean
  /** A question that its agent was asked before. */
  again: boolean
  /** The report that came of it, at the last answer of each. */
  report: Report | null
}

/**
 * The transcript as a conversation. An attempt is over with an error or with the
 * note behind the summary; whatever is said afterwards belongs to the next.
 */
export function conversation(s: Pick<Standup, 'transcript' | 'reports'>): Said[] {
  const asked = new Set<string>()
  const reports = new Map(s.reports.map(r => [r.agent_id, r]))
  const last = new Map<string, number>()
  for (const l of s.transcript) if (['answer', 'timeout', 'failure'].includes(l.kind)) last.set(l.from, l.seq)
  let attempt = 1
  return s.transcript.map((line, i) => {
    const [before, earlier] = [s.transcript[i - 1], s.transcript[i - 2]]
    const begins = before?.kind === 'error' || (before?.kind === 'note' && earlier?.kind === 'summary')
    if (begins) attempt++
    const again = line.kind === 'question' && asked.has(line.to)
    if (line.kind === 'question') asked.add(line.to)
    const report = last.get(line.from) === line.seq ? (reports.get(line.from) ?? null) : null
    return { line, attempt, begins, again, report }
  })
}

const longest = 4000

/** The beginning of a long text, cut where a line ends; null when it is short enough to be shown whole. */
export function clipped(text: string): string | null {
  if (text.length <= longest) return null
  const end = text.lastIndexOf('\n', longest)
  const cut = text.slice(0, end > longest / 2 ? end : longest)
  // Half of a character beyond the first plane would be shown as a mistake.
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut
}

/** What became of a blocker, the strongest word that holds. */
export type Fate = 'ended' | 'escalated' | 'decided' | 'open'

export function fateOf(b: Blocker): Fate {
  if (b.status === 'ended') return 'ended'
  if (b.escalated_on) return 'escalated'
  return b.resolution ? 'decided' : 'open'
}

/** Whether the gateway is in a state in which no meeting can begin. One that is only slow is waited for. */
export function stopsMeetings(
  gateway: Pick<Schemas['GatewayStatus'], 'state' | 'scopes_missing'> | undefined,
): boolean {
  if (!gateway) return false
  if (gateway.state === 'missing_scopes') return gateway.scopes_missing.some(s => /\.(read|write)$/.test(s))
  return !['connected', 'connecting', 'slow'].includes(gateway.state)
}
