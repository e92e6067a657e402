import type { Schemas } from '../api/client'
import { nanos } from '../app/format'
import { sessions as sessionsWords } from '../texts/sessions'
import type { Shown } from './inOrder'
import type { Outgoing } from './outbox'
import type { Message } from './transcript'

const words = sessionsWords

type Call = Schemas['TranscriptToolCall']
export type StepKind = 'said' | 'text' | 'thinking' | 'tools' | 'error' | 'note'

/** The usage of the model calls behind a step. Null values are unknown. */
export interface Spent {
  calls: number
  models: string[]
  input: number | null
  output: number
  cached: number
  cost: bigint | null
  unpriced: boolean
}

/** How far a user's message to the agent has come. */
export type Delivery = 'sending' | 'failed' | 'sent' | 'dropped' | 'read'

function deliveryOf(m: Shown): Delivery | null {
  if (m.outgoing) return m.outgoing.state
  if (m.waiting) return m.waiting === 'dropped' ? 'dropped' : 'sent'
  return m.sender ? 'read' : null
}

/** A row of a transcript. */
export interface Step {
  /** Stable, however many messages are loaded before or after. */
  id: string
  kind: StepKind
  at: string | null
  role: string
  origin: string | null
  /** The user who sent the message to the agent. */
  sender: string | null
  /** Set if Wardroom wrote the message to the agent. */
  prompt: Message['prompt']
  delivery: Delivery | null
  outgoing: Outgoing | null
  text: string
  cut: number
  calls: Call[]
  spent: Spent | null
}

/** Maximum number of calls per row, so that an expanded row stays small. */
const mostCalls = 40

function addSpent(was: Spent | null, m: Message): Spent | null {
  if (!m.tokens && m.cost_usd === null) return was
  const cost = nanos(m.cost_usd)
  const t = m.tokens
  const sum = was?.cost ?? null
  return {
    calls: (was?.calls ?? 0) + 1,
    models: m.model && !was?.models.includes(m.model) ? [...(was?.models ?? []), m.model] : (was?.models ?? []),
    input: t ? (was?.input ?? 0) + t.input : (was?.input ?? null),
    output: (was?.output ?? 0) + (t?.output ?? 0),
    cached: (was?.cached ?? 0) + (t ? t.cache_read + t.cache_write : 0),
    cost: cost === null ? sum : (sum ?? 0n) + cost,
    unpriced: (was?.unpriced ?? false) || cost === null,
  }
}

/** Cached steps by message, so that each new message costs only its own conversion. */
const known = new WeakMap<Shown, Step[]>()

function stepsOfOne(m: Shown, name: string): Step[] {
  const made = known.get(m)
  if (made && (made[0] === undefined || made[0].id === `${name}.0`)) return made
  const steps = ownSteps(m, name)
  known.set(m, steps)
  return steps
}

/** Converts a message to steps, without merging. */
function ownSteps(m: Shown, name: string): Step[] {
  const steps: Step[] = []
  const add = (kind: StepKind, text: string, cut = 0, calls: Call[] = []) =>
    steps.push({
      id: `${name}.${steps.length}`,
      kind,
      at: m.at,
      role: m.role,
      origin: m.origin,
      sender: m.sender,
      prompt: m.prompt,
      delivery: steps.length === 0 ? deliveryOf(m) : null,
      outgoing: m.outgoing ?? null,
      text,
      cut,
      calls,
      spent: null,
    })
  for (const b of m.blocks) {
    if (b.tool) {
      const last = steps.at(-1)
      if (last?.kind === 'tools') last.calls.push(b.tool)
      else add('tools', '', 0, [b.tool])
    } else if (b.type === 'text') {
      if (b.text?.trim()) add(m.role === 'user' ? 'said' : 'text', b.text, b.cut)
    } else if (b.type === 'thinking') {
      if (b.text?.trim()) add('thinking', b.text, b.cut)
    } else add('note', words.step.other(b.text ?? ''))
  }
  if (m.blocks_cut > 0) add('note', words.step.blocksCut(m.blocks_cut))
  if (m.error) add('error', m.error)
  const first = steps[0]
  if (first) first.spent = addSpent(null, m)
  return steps
}

/**
 * Converts messages to steps. Consecutive tool calls are merged into one step, across messages. A message's usage
 * belongs to its first step.
 */
export function stepsOf(messages: readonly Shown[]): Step[] {
  const steps: Step[] = []
  const names = new Map<string, number>()
  for (const [i, m] of messages.entries()) {
    const plain = m.id ?? (m.seq !== null ? `n${m.seq}` : `i${i}`)
    const seen = names.get(plain) ?? 0
    names.set(plain, seen + 1)
    for (const step of stepsOfOne(m, seen ? `${plain}~${seen}` : plain)) {
      const last = steps.at(-1)
      if (step.kind === 'tools' && last?.kind === 'tools' && last.calls.length + step.calls.length <= mostCalls) {
        const spent = step.spent ? joinSpent(last.spent, step.spent) : last.spent
        steps[steps.length - 1] = { ...last, calls: [...last.calls, ...step.calls], spent }
      } else steps.push(step)
    }
  }
  return steps
}

function joinSpent(a: Spent | null, b: Spent): Spent {
  if (!a) return b
  return {
    calls: a.calls + b.calls,
    models: [...new Set([...a.models, ...b.models])],
    input: a.input === null ? b.input : a.input + (b.input ?? 0),
    output: a.output + b.output,
    cached: a.cached + b.cached,
    cost: a.cost === null ? b.cost : a.cost + (b.cost ?? 0n),
    unpriced: a.unpriced || b.unpriced,
  }
}

/** Converts nano-dollars to a decimal string. */
export const usdOf = (n: bigint): string => {
  const size = n < 0n ? -n : n
  return `${n < 0n ? '-' : ''}${size / 1_000_000_000n}.${String(size % 1_000_000_000n).padStart(9, '0')}`
}

type Doing = 'commands' | 'reads' | 'writes' | 'edits' | 'searches' | 'pages' | 'says'

/** Tool names by activity, for the known runtimes. */
const doings: readonly [Doing, RegExp][] = [
  ['commands', /^(exec|bash|shell|sh|process|run|run_?command|execute|terminal|local_shell)$/],
  ['reads', /^(read|read_?file|cat|view|open_?file|image)$/],
  ['writes', /^(write|write_?file|create|create_?file)$/],
  ['edits', /^(edit|edit_?file|multi_?edit|apply_?patch|patch|str_replace.*)$/],
  ['searches', /^(grep|glob|search|find|ls|list|list_?(dir|files)|web_?search|memory_?search|tool_?search)$/],
  ['pages', /^(web_?fetch|fetch|browser|browse|open_?page|http)$/],
  ['says', /^(message|sessions?_?(send|spawn)|send_?message)$/],
]

/** Maximum number of other tools listed by name. */
const mostNames = 2

/** Summarizes tool calls: "Ran 3 commands, read 6 files". */
export function toldInWords(calls: readonly Call[]): string {
  const known = new Map<Doing, number>()
  const other = new Map<string, number>()
  for (const c of calls) {
    const name = c.name.toLowerCase()
    const doing = doings.find(([, fits]) => fits.test(name))?.[0]
    if (doing) known.set(doing, (known.get(doing) ?? 0) + 1)
    else other.set(c.name, (other.get(c.name) ?? 0) + 1)
  }
  const parts = [...known].map(([doing, n]) => words.tools[doing](n))
  const names = [...other]
  for (const [name, n] of names.slice(0, mostNames)) parts.push(words.tools.other(name.slice(0, 60), n))
  const rest = names.slice(mostNames).reduce((sum, [, n]) => sum + n, 0)
  if (rest > 0) parts.push(words.tools.others(rest))
  const line = parts.join(', ')
  return line.slice(0, 1).toUpperCase() + line.slice(1)
}

export interface Segment {
  /** Index of the first step, and the number of steps. */
  from: number
  count: number
  kind: StepKind
}

/** Step kinds by rising priority. A segment of several steps shows the kind with the highest priority. */
const loudness: readonly StepKind[] = ['note', 'thinking', 'text', 'tools', 'said', 'error']

/** Returns the kind of a step in the overview. A failed call counts as an error. */
export const kindOf = (s: Step): StepKind =>
  s.kind === 'tools' && s.calls.some(c => c.is_error || c.status === 'failed') ? 'error' : s.kind

/** Groups the steps into at most `most` segments. Errors always stay visible. */
export function segmentsOf(steps: readonly Step[], most: number): Segment[] {
  const each = Math.max(1, Math.ceil(steps.length / most))
  const segments: Segment[] = []
  for (let from = 0; from < steps.length; from += each) {
    const part = steps.slice(from, from + each)
    const kind = part.map(kindOf).reduce((a, b) => (loudness.indexOf(b) > loudness.indexOf(a) ? b : a))
    segments.push({ from, count: part.length, kind })
  }
  return segments
}

/** Returns the transcript as plain text. */
export function asText(title: string, steps: readonly Step[]): string {
  const lines = steps.map(s => {
    const head = `[${s.at ?? '?'}] ${s.sender ?? words.strip.kinds[s.kind]}`
    if (s.kind !== 'tools') return `${head}\n${s.text}`
    const calls = s.calls.map(
      c => `- ${c.name} ${c.arguments ?? ''}\n${c.result === null ? words.step.pending : c.result}`,
    )
    return `${head}: ${toldInWords(s.calls)}\n${calls.join('\n')}`
  })
  return `${title}\n\n${lines.join('\n\n')}\n`
}
