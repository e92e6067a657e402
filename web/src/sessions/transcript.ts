import type { Schemas } from '../api/client'

export type Message = Schemas['TranscriptMessage']

/** The loaded part of a transcript: the newest messages, without gaps. */
export interface Transcript {
  rows: Message[]
  /** Messages that the agent hasn't read yet. */
  waiting: Message[]
  /** The cursor of older messages; null at the start of the session. */
  older: string | null
}

/** How far from an edge to look for the same message, in rows. */
const near = 600

const same = (a: Message, b: Message): boolean =>
  a.id !== null && b.id !== null ? a.id === b.id : a.seq !== null && a.seq === b.seq

function findFromEnd(rows: readonly Message[], of: Message): number {
  const stop = Math.max(0, rows.length - near)
  for (let i = rows.length - 1; i >= stop; i--) {
    const row = rows[i]
    if (row && same(row, of)) return i
  }
  return -1
}

/** Returns the tool result in a message with the role tool, or null. */
const resultOf = (m: Message) => (m.role === 'tool' ? (m.blocks.find(b => b.tool?.id)?.tool ?? null) : null)

/** Adds a tool result to its call. Returns null if the call isn't loaded. */
function withResult(rows: readonly Message[], m: Message): Message[] | null {
  const result = resultOf(m)
  if (!result) return null
  const stop = Math.max(0, rows.length - near)
  for (let i = rows.length - 1; i >= stop; i--) {
    const row = rows[i]
    const at = row?.blocks.findIndex(b => b.tool !== null && b.tool.id === result.id) ?? -1
    const call = row?.blocks[at]?.tool
    if (!row || !call) continue
    if (row.role === 'tool') return null
    if (call.status !== 'pending') return [...rows]
    const tool = {
      ...call,
      status: result.status,
      is_error: result.is_error,
      result: result.result,
      result_cut: result.result_cut,
      ended_at: result.ended_at,
    }
    const next = [...rows]
    next[i] = { ...row, blocks: row.blocks.map((b, n) => (n === at ? { ...b, tool } : b)) }
    return next
  }
  return null
}

/** Adds a message from the stream. Duplicates are ignored. */
export function addHeard(was: Transcript, m: Message): Transcript {
  const { rows } = was
  if (findFromEnd(rows, m) >= 0) return was
  const settled = withResult(rows, m)
  if (settled) return { ...was, rows: settled }
  // Usually at the end; a late message is sorted in by its number.
  let at = rows.length
  while (m.seq !== null && at > 0 && (rows[at - 1]?.seq ?? -1) > m.seq) at--
  return { ...was, rows: [...rows.slice(0, at), m, ...rows.slice(at)] }
}

/**
 * Joins a refetched newest page with the older messages. If they don't overlap, messages are missing or the session was
 * reset: then only the page is kept.
 */
export function joinNewest(was: Transcript | undefined, fresh: Transcript): Transcript {
  if (!was || fresh.older === null) return fresh
  let before: Message[] | null = null
  for (const row of fresh.rows) {
    const at = findFromEnd(was.rows, row)
    if (at >= 0) {
      const from = fresh.rows.indexOf(row)
      const lost = fresh.rows.slice(0, from)
      before = was.rows.slice(0, at)
      // Earlier messages on the page can only be results of known calls.
      for (const m of lost) before = before && withResult(before, m)
      return before ? { ...fresh, rows: [...before, ...fresh.rows.slice(from)], older: was.older } : fresh
    }
  }
  return fresh
}

/** Joins a page of older messages with the loaded ones. */
export function joinOlder(was: Transcript, page: Transcript): Transcript {
  let before = page.rows
  let from = 0
  for (const m of was.rows) {
    // A page may start with results of calls on the page before it.
    const settled = m.role === 'tool' ? withResult(before, m) : null
    if (!settled && findFromEnd(page.rows, m) < 0) break
    if (settled) before = settled
    from++
  }
  return { ...was, rows: [...before, ...was.rows.slice(from)], older: page.older }
}
