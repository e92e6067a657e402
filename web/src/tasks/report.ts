import type { Schemas } from '../api/client'

const reportKinds = ['ack', 'progress', 'blocker', 'done', 'answer'] as const

/** The kinds of reports, and the agent's final answer. */
export type ReportKind = (typeof reportKinds)[number]

/** What someone said about a task: a comment, a report, or an agent's final answer. */
export interface Said {
  id: string
  at: string
  kind: ReportKind | 'comment'
  /** The author's user ID, and name at the time. */
  author: string | null
  name: string
  /** The agent that answered; null for reports and comments. */
  agent: string | null
  text: string
  edited: boolean
}

const isKind = (v: unknown): v is ReportKind => reportKinds.includes(v as ReportKind)

/** Returns the report in an event, or null. */
export function reportOf(e: Schemas['Event']): Said | null {
  const data = (typeof e.data === 'object' && e.data !== null ? e.data : {}) as {
    report?: unknown
    text?: unknown
    answer?: unknown
    dispatch?: { agent_id?: unknown }
  }
  const text = (v: unknown) => (typeof v === 'string' ? v : '')
  const common = { id: `e${e.id}`, at: e.at, author: e.actor.id, name: e.actor.name, edited: false }
  if (e.kind === 'task.reported' && isKind(data.report))
    return { ...common, kind: data.report, agent: null, text: text(data.text) }
  if (e.kind === 'task.dispatch_ended' && text(data.answer))
    return { ...common, kind: 'answer', agent: text(data.dispatch?.agent_id) || null, text: text(data.answer) }
  return null
}

export const commentOf = (c: Schemas['TaskComment']): Said => ({
  id: c.id,
  at: c.created_at,
  kind: 'comment',
  author: c.author_id,
  name: c.author_name,
  agent: null,
  text: c.body,
  edited: c.edited_at !== null,
})

/** Returns the newest words of an agent about a task. The events are newest first, the comments oldest first. */
export function latestWords(
  events: readonly Schemas['Event'][],
  comments: readonly Schemas['TaskComment'][],
  isAgent: (author: string | null) => boolean,
): Said | null {
  const report = events.flatMap(e => reportOf(e) ?? []).find(r => r.text.trim() !== '')
  const comment = comments.findLast(c => isAgent(c.author_id))
  if (!comment) return report ?? null
  return report && report.at >= comment.created_at ? report : commentOf(comment)
}

const longest = 500

/** Returns the beginning of a long report, cut at a line or a word; null if it is short enough. */
export function cutReport(text: string): string | null {
  if (text.length <= longest * 1.2) return null
  const head = text.slice(0, longest)
  const end = Math.max(head.lastIndexOf('\n'), head.lastIndexOf(' '))
  return `${head.slice(0, end > longest / 2 ? end : longest).trimEnd()}…`
}
