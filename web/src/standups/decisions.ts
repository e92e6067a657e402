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
  /** What a person decided who resolved its inbox item, or null. */
  answer: { by: string; text: string } | null
}

/** What is open, what is settled, and the blockers that the open decisions don't tell of. */
export interface Decisions {
  open: Decision[]
  settled: Decision[]
  blockers: Blocker[]
}

const asks = (i: Told): boolean => i.kind === 'escalation' || i.kind === 'old_blocker'

/** Compares the beginnings of texts, because the inbox cuts titles. */
const start = (text: string): string => text.slice(0, 100)

/**
 * Returns the decisions that a standup asks for. An escalation is open while its blocker is, or without a blocker, while
 * its inbox item is; until the inbox is known, that one is neither open nor settled. Blockers that are old enough for
 * the inbox are decisions too.
 */
export function decisionsOf(
  s: Pick<Standup, 'escalations' | 'blockers'>,
  inbox: readonly Told[] | undefined,
): Decisions {
  const items = inbox?.filter(asks) ?? []
  const itemOf = (task: string | null, text: string, over: boolean): Told | null =>
    items.find(
      i =>
        (i.state === 'resolved') === over &&
        (task ? taskOf(i) === task : taskOf(i) === null && i.title.includes(start(text))),
    ) ?? null
  const all = s.escalations.map<Decision>(e => ({
    ...e,
    blocker: s.blockers.find(b => e.task !== null && b.task === e.task) ?? null,
    item: itemOf(e.task, e.title, false),
    answer: answerOf(itemOf(e.task, e.title, true)),
  }))
  const old = s.blockers
    .filter(b => b.status === 'open' && b.escalated_on !== null && !all.some(d => d.blocker === b))
    .map<Decision>(b => ({
      title: b.text,
      detail: '',
      task: b.task,
      blocker: b,
      item: itemOf(b.task, b.text, false),
      answer: null,
    }))
  const isOpen = (d: Decision) => (d.blocker ? d.blocker.status === 'open' : d.item !== null)
  const open = [...all.filter(isOpen), ...old]
  return {
    open,
    settled: inbox ? all.filter(d => !isOpen(d) && d.blocker === null) : [],
    blockers: s.blockers.filter(b => !open.some(d => d.blocker === b)),
  }
}

/** Returns what a person wrote when resolving an item. */
const answerOf = (item: Told | null): Decision['answer'] => {
  const r = item?.resolution
  return r?.note && r.by.id !== 'system' ? { by: r.by.name, text: r.note } : null
}

const keyPattern = /\b[A-Z][A-Z0-9]*-\d+\b/g

/** Returns the titles of the tasks that the evidence of a standup names, by key. */
export function titlesOf(s: Pick<Standup, 'reports'>): Map<string, string> {
  const lists = s.reports.flatMap(({ evidence: e }) => (e ? [e.finished, e.moved, e.created, e.blocked] : []))
  return new Map(lists.flat().map(t => [t.key, t.title]))
}

/** Returns since when a task was blocked on the board at the standup. */
export const blockedSince = (s: Pick<Standup, 'reports'>, task: string | null): string | undefined =>
  s.reports.flatMap(r => r.evidence?.blocked ?? []).find(t => t.key === task)?.since ?? undefined

/** A task that a text names. The title is there if the text doesn't say it itself or name the task earlier. */
export interface Mention {
  key: string
  title?: string
}

/** Splits a text into its parts: words, and the tasks that it names. */
export function mentionsIn(text: string, titles: ReadonlyMap<string, string>): (string | Mention)[] {
  const told = new Set<string>()
  const parts: (string | Mention)[] = []
  let end = 0
  for (const { 0: key, index } of text.matchAll(keyPattern)) {
    const title = titles.get(key)
    if (!title) continue
    const rest = text.slice(index + key.length).replace(/^[\s:(–-]+/, '')
    parts.push(text.slice(end, index), told.has(key) || rest.startsWith(title) ? { key } : { key, title })
    told.add(key)
    end = index + key.length
  }
  return [...parts, text.slice(end)]
}

/** Returns the text with the title behind the first mention of each task, unless the text has it there already. */
export const withTitles = (text: string, titles: ReadonlyMap<string, string>): string =>
  mentionsIn(text, titles)
    .map(p => (typeof p === 'string' ? p : p.title ? `${p.key} (${p.title})` : p.key))
    .join('')

/** Returns the text of a blocker without the age that agents add, which is shown beside it. */
export const withoutAge = (text: string): string => text.replace(/\s*\((?:(?:for )?\d+ days?|since today)\)\.?\s*$/, '')

/** Returns what blocks a task, without the task's key and title, which are shown beside it. */
export function reasonOf(b: Pick<Blocker, 'text' | 'task'>, titles: ReadonlyMap<string, string>): string {
  let text = withoutAge(b.text)
  for (const start of [b.task, titles.get(b.task ?? '')]) {
    if (start && text.startsWith(start)) text = text.slice(start.length).replace(/^[\s:–-]+/, '')
  }
  return text || withoutAge(b.text)
}

/** Returns the task keys in a text, each once. */
export const keysIn = (text: string): string[] => [...new Set(text.match(keyPattern))]

/** Returns the tasks of a report's blockers if the standup's blockers tell all of them, else null. */
export function toldBlockers(text: string, blockers: readonly Blocker[]): string[] | null {
  const told = new Set(blockers.map(b => b.task))
  const lines = text.split('\n').filter(l => l.trim())
  const keys = lines.map(l => keysIn(l).find(k => told.has(k)))
  return keys.length > 0 && keys.every(k => k !== undefined) ? [...new Set(keys)] : null
}
