import { type Told, taskOf } from '../inbox/item'
import type { Blocker, Standup } from './standup'

/** Something in a standup that only a person can settle. */
export interface Decision {
  title: string
  detail: string
  /** The key of its task, or null. */
  task: string | null
  blocker: Blocker | null
  /** Its unresolved inbox item, or null. */
  item: Told | null
}

/** What is open, what is settled, and the blockers that the open decisions don't tell of. */
export interface Decisions {
  open: Decision[]
  settled: Decision[]
  blockers: Blocker[]
}

const asks = (i: Told): boolean => i.state !== 'resolved' && (i.kind === 'escalation' || i.kind === 'old_blocker')

/** Compares the beginnings of texts, because the inbox cuts titles. */
const start = (text: string): string => text.slice(0, 100)

/**
 * Returns the decisions that a standup asks for. An escalation is open while its blocker is, or without a blocker, while
 * its inbox item is. Blockers that are old enough for the inbox are decisions too.
 */
export function decisionsOf(s: Pick<Standup, 'escalations' | 'blockers'>, inbox: readonly Told[]): Decisions {
  const items = inbox.filter(asks)
  const itemOf = (task: string | null, text: string): Told | null =>
    items.find(i => (task ? taskOf(i) === task : taskOf(i) === null && i.title.includes(start(text)))) ?? null
  const all = s.escalations.map<Decision>(e => ({
    ...e,
    blocker: s.blockers.find(b => e.task !== null && b.task === e.task) ?? null,
    item: itemOf(e.task, e.title),
  }))
  const old = s.blockers
    .filter(b => b.status === 'open' && b.escalated_on !== null && !all.some(d => d.blocker === b))
    .map<Decision>(b => ({ title: b.text, detail: '', task: b.task, blocker: b, item: itemOf(b.task, b.text) }))
  const isOpen = (d: Decision) => (d.blocker ? d.blocker.status === 'open' : d.item !== null)
  const open = [...all.filter(isOpen), ...old]
  return {
    open,
    settled: all.filter(d => !isOpen(d) && d.blocker === null),
    blockers: s.blockers.filter(b => !open.some(d => d.blocker === b)),
  }
}

/** Returns the titles of the tasks that the evidence of a standup names, by key. */
export function titlesOf(s: Pick<Standup, 'reports'>): Map<string, string> {
  const lists = s.reports.flatMap(({ evidence: e }) => (e ? [e.finished, e.moved, e.created, e.blocked] : []))
  return new Map(lists.flat().map(t => [t.key, t.title]))
}

/** Returns the text with the title behind the first mention of each task, unless the text has it there already. */
export function withTitles(text: string, titles: ReadonlyMap<string, string>): string {
  const told = new Set<string>()
  return text.replace(/\b[A-Z][A-Z0-9]*-\d+\b/g, (key, at: number) => {
    const title = titles.get(key)
    const rest = text.slice(at + key.length).replace(/^[\s:(–-]+/, '')
    if (!title || told.has(key) || rest.startsWith(title)) return key
    told.add(key)
    return `${key} (${title})`
  })
}

/** Returns the text of a blocker without the age that agents add, which is shown beside it. */
export const withoutAge = (text: string): string => text.replace(/\s*\((?:for )?\d+ days?\)\.?\s*$/, '')
