import type { Schemas } from '../api/client'

const reportKinds = ['ack', 'progress', 'blocker', 'done', 'answer'] as const

/** The kinds of reports, and the agent's final answer. */
export type ReportKind = (typeof reportKinds)[number]

export interface Report {
  id: number
  at: string
  kind: ReportKind
  /** The author's name at the time. */
  author: string
  /** The agent that answered; null for a report. */
  agent: string | null
  text: string
}

const isKind = (v: unknown): v is ReportKind => reportKinds.includes(v as ReportKind)

/** Returns the report in an event, or null. */
export function reportOf(e: Schemas['Event']): Report | null {
  const data = (typeof e.data === 'object' && e.data !== null ? e.data : {}) as {
    report?: unknown
    text?: unknown
    answer?: unknown
    dispatch?: { agent_id?: unknown }
  }
  const text = (v: unknown) => (typeof v === 'string' ? v : '')
  const common = { id: e.id, at: e.at, author: e.actor.name }
  if (e.kind === 'task.reported' && isKind(data.report))
    return { ...common, kind: data.report, agent: null, text: text(data.text) }
  if (e.kind === 'task.dispatch_ended' && text(data.answer))
    return { ...common, kind: 'answer', agent: text(data.dispatch?.agent_id) || null, text: text(data.answer) }
  return null
}

/** Returns the newest report with words in a task's events, which are newest first. */
export const latestReport = (events: readonly Schemas['Event'][]): Report | null =>
  events.flatMap(e => reportOf(e) ?? []).find(r => r.text.trim() !== '') ?? null

const longest = 500

/** Returns the beginning of a long report, cut at a line or a word; null if it is short enough. */
export function cutReport(text: string): string | null {
  if (text.length <= longest * 1.2) return null
  const head = text.slice(0, longest)
  const end = Math.max(head.lastIndexOf('\n'), head.lastIndexOf(' '))
  return `${head.slice(0, end > longest / 2 ? end : longest).trimEnd()}…`
}
