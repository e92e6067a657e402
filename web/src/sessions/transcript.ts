import type { Schemas } from '../api/client'

export type Message = Schemas['TranscriptMessage']

/** What was read of a conversation: its newest part, without gaps. */
export interface Transcript {
  rows: Message[]
  /** Where what is older begins; null when there is nothing older. */
  older: string | null
}

/** How far from an edge the same message is looked for, in rows. */
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

/** The result that a message of the role tool brings, or null. */
const resultOf = (m: Message) => (m.role === 'tool' ? (m.blocks.find(b => b.tool?.id)?.tool ?? null) : null)

/**
 * Puts a result that came as a message of its own to the call that it belongs
 * to, as the pages have it. Null when that call is not here.
 */
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
    }
    const next = [...rows]
    next[i] = { ...row, blocks: row.blocks.map((b, n) => (n === at ? { ...b, tool } : b)) }
    return next
  }
  return null
}

/** Adds a message that was heard live. One that is there already, from a page or heard twice, adds nothing. */
export function addHeard(was: Transcript, m: Message): Transcript {
  const { rows } = was
  if (findFromEnd(rows, m) >= 0) return was
  const settled = withResult(rows, m)
  if (settled) return { ...was, rows: settled }
  // Almost always at the end; one that came late goes where its number says.
  let at = rows.length
  while (m.seq !== null && at > 0 && (rows[at - 1]?.seq ?? -1) > m.seq) at--
  return { ...was, rows: [...rows.slice(0, at), m, ...rows.slice(at)] }
}

/**
 * The newest page, read anew, with what was read before it. Where the two do not
 * touch, something between them is missing or the conversation is another one:
 * then only the page counts, and what is older is read again when it is wanted.
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
      // What stands before the first that we know can only be results of calls that we have.
      for (const m of lost) before = before && withResult(before, m)
      return before ? { rows: [...before, ...fresh.rows.slice(from)], older: was.older } : fresh
    }
  }
  return fresh
}

/** A page of what is older, before what was read. */
export function joinOlder(was: Transcript, page: Transcript): Transcript {
  let before = page.rows
  let from = 0
  for (const m of was.rows) {
    // At the beginning of a page stand the results of calls that were on the page before.
    const settled = m.role === 'tool' ? withResult(before, m) : null
    if (!settled && findFromEnd(page.rows, m) < 0) break
    if (settled) before = settled
    from++
  }
  return { rows: [...before, ...was.rows.slice(from)], older: page.older }
}
