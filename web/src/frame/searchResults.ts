import type { Schemas } from '../api/client'
import { comparable } from '../app/comparable'
import { nameOf, partsOf, withoutPrefix } from '../sessions/session'

export type Found = Schemas['SearchResult']

/** Returns the key of a session. The server's title is its label or key. */
const keyOf = (s: Found): string => (/^agent:/i.test(s.title) ? s.title : `agent:${s.agent_id ?? ''}:${s.title.trim()}`)

/** Returns the display name of a session. */
export const titleOf = (s: Found): string =>
  withoutPrefix(nameOf({ key: keyOf(s), label: null, agent_id: s.agent_id ?? '' }))

/** Returns whether a result is a session of a standup of which there is a report as well. */
export const isReported = (s: Found, reports: readonly Found[]): boolean => {
  const { standup } = partsOf(keyOf(s))
  return (
    s.session_id !== null &&
    standup !== undefined &&
    reports.some(r => r.standup_id !== null && r.title.includes(standup))
  )
}

/** Sessions with the same title, as one row. */
export interface Fold {
  /** The newest of them. */
  first: Found
  /** Number of further results with the same title. */
  others: number
  agents: string[]
}

/** Groups session results by title, because recurring sessions have the same title every day. */
export function fold(found: readonly Found[]): Fold[] {
  const folds = new Map<string, Fold>()
  for (const s of found) {
    if (s.session_id === null) continue
    const name = comparable(s.title)
    const known = folds.get(name)
    if (!known) {
      folds.set(name, { first: s, others: 0, agents: s.agent_id ? [s.agent_id] : [] })
      continue
    }
    known.others++
    if (s.at > known.first.at) known.first = s
    if (s.agent_id && !known.agents.includes(s.agent_id)) known.agents.push(s.agent_id)
  }
  return [...folds.values()]
}

/** The results in the reports of one standup. */
export interface Reports {
  standup: string
  first: Found
  agents: string[]
}

/** Groups report results by standup. A standup is listed where its first result was. */
export function reportsOf(found: readonly Found[]): Reports[] {
  const standups = new Map<string, Reports>()
  for (const r of found) {
    if (r.standup_id === null) continue
    const known = standups.get(r.standup_id)
    const agents = r.agent_id ? [r.agent_id] : []
    if (known) known.agents.push(...agents)
    else standups.set(r.standup_id, { standup: r.standup_id, first: r, agents })
  }
  return [...standups.values()]
}

/** A piece of a text, and whether it matched. */
export interface Piece {
  text: string
  hit: boolean
}

/** How much of a snippet to show before its first match, in characters. */
const before = 28

/** Returns a snippet without Markdown marks, in pieces. It begins shortly before the first match. */
export function piecesOf({ snippet, marks }: Pick<Found, 'snippet' | 'marks'>): Piece[] {
  const chars = [...snippet]
  const plain = (from: number, to?: number) =>
    chars
      .slice(from, to)
      .join('')
      .replace(/(^|\s)(?:(?:[>|*-]|#+)\s+)+|[`]|\*\*/g, '$1')
  const first = marks[0]?.start ?? 0
  const space = chars.indexOf(' ', Math.max(0, first - before))
  const start = first > before && space >= 0 && space < first ? space + 1 : 0
  const pieces: Piece[] = [{ text: `${start > 0 ? '…' : ''}${plain(start, first)}`, hit: false }]
  marks.forEach(({ start: from, end }, i) => {
    pieces.push({ text: plain(from, end), hit: true }, { text: plain(end, marks[i + 1]?.start), hit: false })
  })
  if (marks.length === 0) pieces.push({ text: plain(0), hit: false })
  return pieces.filter(p => p.text)
}

/** Returns a title in pieces, with the beginnings of words that were typed as matches. */
export function titlePieces(title: string, typed: string): Piece[] {
  const words = typed.trim().split(/\s+/).filter(Boolean)
  if (words.length === 0) return [{ text: title, hit: false }]
  const any = words.map(w => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')
  return title
    .split(new RegExp(`(?<![\\p{L}\\p{N}])(${any})`, 'giu'))
    .map((text, i) => ({ text, hit: i % 2 === 1 }))
    .filter(p => p.text)
}
