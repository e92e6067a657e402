import type { Schemas } from '../api/client'
import { addDays } from '../app/days'

export type Standup = Schemas['Standup']
export type Brief = Schemas['StandupBrief']
export type Report = Schemas['StandupReport']
export type Line = Schemas['StandupLine']
export type Blocker = Schemas['StandupBlocker']

/** The status of a standup as shown. A canceled standup is not a failed one. */
export type Stand = 'opened' | 'running' | 'completed' | 'error' | 'cancelled' | 'not_run'

export function standOf(s: Pick<Brief, 'status' | 'phase' | 'error'>): Stand {
  if (s.status === 'completed') return 'completed'
  if (s.status === 'running') return s.phase === 'opened' ? 'opened' : 'running'
  return s.error?.code === 'cancelled' || s.error?.code === 'not_run' ? s.error.code : 'error'
}

/** The phase of a running standup, who is answering, and since when. */
export interface Progress {
  now: 'opened' | 'gathering' | 'asking' | 'between' | 'reviewing'
  who: string | null
  since: string | null
  /** Number of participants that are done, with or without an answer. */
  done: number
  of: number
}

const isThrough = (r: Pick<Report, 'status'>): boolean => r.status !== 'pending' && r.status !== 'asked'

/** Returns the progress of a standup; null if it isn't running. */
export function progressOf(s: Standup): Progress | null {
  if (s.status !== 'running') return null
  const count = { done: s.reports.filter(isThrough).length, of: s.reports.length }
  if (s.phase === 'opened') return { now: 'opened', who: null, since: s.created_at, ...count }
  if (s.phase === 'gathering') return { now: 'gathering', who: null, since: s.started_at, ...count }
  if (s.phase === 'reviewing' || s.phase === 'closed') {
    // Ignores the question of an earlier attempt.
    const asked = s.transcript.findLast(
      l => l.kind === 'question' && l.to === s.facilitator && l.at >= (s.started_at ?? ''),
    )
    return { now: 'reviewing', who: s.facilitator, since: asked?.at ?? null, ...count }
  }
  const asked = s.reports.find(r => r.status === 'asked')
  if (asked) return { now: 'asking', who: asked.agent_id, since: asked.asked_at, ...count }
  return { now: 'between', who: null, since: null, ...count }
}

/** Returns how a standup can be run; null if it is running or completed. */
export function verbOf(s: Pick<Brief, 'status' | 'phase'>): 'run' | 'retry' | null {
  if (s.status === 'error') return 'retry'
  return s.status === 'running' && s.phase === 'opened' ? 'run' : null
}

const longestHead = 220

/** Splits a summary into its first sentence and the rest. */
export function headline(summary: string): { head: string; rest: string } {
  const text = summary.trim()
  const first = /^[^\n]*?[.!?](?=\s|$)|^[^\n]+/.exec(text)?.[0] ?? ''
  const isPlain = first.length <= longestHead && !/^[#>*\-\d`]|[*_`[\]<]/.test(first)
  // A first sentence that is too long or has markup is not split off.
  return isPlain ? { head: first, rest: text.slice(first.length).trim() } : { head: '', rest: text }
}

/** A day with its standup, if any. */
export interface Day {
  date: string
  standup: Brief | null
}

/** Returns `count` days up to `until`, oldest first, including days without a standup. */
export function calendar(until: string, count: number, standups: readonly Brief[]): Day[] {
  const of = new Map(standups.map(s => [s.date, s]))
  return Array.from({ length: count }, (_, i) => {
    const date = addDays(until, i - count + 1)
    return { date, standup: of.get(date) ?? null }
  })
}

/** A line of the transcript. */
export interface Said {
  line: Line
  /** The number of the attempt, from 1. */
  attempt: number
  /** Whether the line starts a new attempt. */
  begins: boolean
  /** Whether the agent was asked this question before. */
  again: boolean
  /** The resulting report, on the last answer of each participant. */
  report: Report | null
}

/** Converts the transcript to lines. An attempt ends with an error, or with the note after the summary. */
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

/** Returns the start of a long text, cut at a line break; null if it is short enough. */
export function clipped(text: string): string | null {
  if (text.length <= longest) return null
  const end = text.lastIndexOf('\n', longest)
  const cut = text.slice(0, end > longest / 2 ? end : longest)
  // Don't cut a surrogate pair in half.
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut
}

/** The outcome of a blocker, strongest first. */
export type Fate = 'ended' | 'escalated' | 'decided' | 'open'

export function fateOf(b: Blocker): Fate {
  if (b.status === 'ended') return 'ended'
  if (b.escalated_on) return 'escalated'
  return b.resolution ? 'decided' : 'open'
}

/**
 * Returns who decided what about a blocker: the person who ended it, else the facilitator. The facilitator's text says
 * nothing about a decision of a person, which came later.
 */
export function verdictOf(b: Blocker, facilitator: string): { by: string; text: string } | null {
  if (b.ended_why === 'decided') return b.decision
  return b.resolution ? { by: facilitator, text: b.resolution } : null
}
