import { isSame, type Outgoing } from './outbox'
import type { Message, Transcript } from './transcript'

/** A message of the transcript, or one that this tab is sending. */
export interface Shown extends Message {
  outgoing?: Outgoing
}

/** How far a message is moved at most, in rows. */
const near = 600

const isLater = (m: Message | undefined, at: number): boolean => m?.at != null && Date.parse(m.at) > at

/** Adds a message at its time: the runtime adds a message to a busy agent only when the agent reads it. */
function insert(rows: Shown[], m: Shown): void {
  let to = rows.length
  const at = m.role === 'user' && m.at ? Date.parse(m.at) : Number.NaN
  while (to > 0 && rows.length - to < near && isLater(rows[to - 1], at)) to--
  if (to === rows.length) rows.push(m)
  else rows.splice(to, 0, m)
}

const asShown = (o: Outgoing): Shown => ({
  id: `out-${o.id}`,
  seq: null,
  role: 'user',
  at: o.at,
  blocks: [{ type: 'text', text: o.text, cut: 0, tool: null }],
  blocks_cut: 0,
  error: null,
  run_id: o.runId,
  sender: o.sender,
  prompt: null,
  waiting: null,
  model: null,
  stop_reason: null,
  tokens: null,
  cost_usd: null,
  origin: null,
  outgoing: o,
})

/**
 * Returns the messages in order of time: those of the transcript, those that the agent hasn't read yet, and those that
 * this tab sends.
 */
export function inOrder(t: Transcript, sends: readonly Outgoing[]): Shown[] {
  const rows: Shown[] = []
  const read = new Set<string>()
  const matched = new Set<Outgoing>()
  const senders = new Map(t.waiting.map(m => [m.run_id, m.sender]))
  // The stream doesn't name the sender. While the message waited, a read of the transcript did.
  const named = (m: Message): Message => {
    if (m.role !== 'user') return m
    const out = sends.find(o => isSame(m, o))
    if (out) matched.add(out)
    const sender = m.sender ?? out?.sender ?? (m.run_id ? senders.get(m.run_id) : null) ?? null
    return sender === m.sender ? m : { ...m, sender }
  }
  for (const m of t.rows) {
    if (m.role === 'user' && m.run_id) read.add(m.run_id)
    insert(rows, named(m))
  }
  const first = t.older === null ? null : t.rows[0]?.at
  for (const m of t.waiting) {
    if (m.run_id && read.has(m.run_id)) continue
    // Its place is among older messages that aren't loaded.
    if (m.waiting === 'dropped' && first && m.at && Date.parse(m.at) < Date.parse(first)) continue
    insert(rows, named(m))
  }
  for (const out of sends) if (!matched.has(out)) insert(rows, asShown(out))
  return rows
}
