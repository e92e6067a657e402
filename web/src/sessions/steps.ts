import type { Schemas } from '../api/client'
import { nanos } from '../app/format'
import { sessions as sessionsWords } from '../texts/sessions'
import type { Shown } from './inOrder'
import type { Outgoing } from './outbox'
import type { Message } from './transcript'

const words = sessionsWords

/** A tool call, with the time of its message. */
export type Call = Schemas['TranscriptToolCall'] & { at: string | null }
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
      const call = { ...b.tool, at: m.at }
      if (last?.kind === 'tools') last.calls.push(call)
      else add('tools', '', 0, [call])
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

/** Returns whether a call failed. */
export const isFailed = (c: Call): boolean => c.is_error || c.status === 'failed'

/** Whether a command needed approval in a run that may not ask for one, as OpenClaw's result of the call says. */
export const cannotAsk = (c: Call): boolean =>
  /approval registration failed: .*missing scope: operator\.approvals/.test(c.result ?? '')

/** Returns how long a call took in ms, or null if unknown. */
export function tookOf(c: Call): number | null {
  const ms = Date.parse(c.ended_at ?? '') - Date.parse(c.at ?? '')
  return Number.isNaN(ms) || ms < 0 ? null : ms
}

const ends = new WeakMap<Step, number>()

/** Returns when a step ended, in ms: its own time, or that of its last tool result. NaN if unknown. */
export function endOf(s: Step): number {
  const made = ends.get(s)
  if (made !== undefined) return made
  let end = s.at ? Date.parse(s.at) : Number.NaN
  for (const c of s.calls) {
    const at = c.ended_at ?? c.at
    if (at) end = Math.max(Number.isNaN(end) ? 0 : end, Date.parse(at))
  }
  ends.set(s, end)
  return end
}

/** A message to the agent with everything until the next one. */
export interface Turn {
  cost: bigint | null
  unpriced: boolean
  /** From the message to the last step; null if unknown. */
  ms: number | null
  calls: number
}

/** Returns the turns by the ID of the step that begins them. */
export function turnsOf(steps: readonly Step[]): ReadonlyMap<string, Turn> {
  const turns = new Map<string, Turn>()
  let turn: Turn | null = null
  let began = Number.NaN
  for (const s of steps) {
    if (s.kind === 'said') {
      turn = { cost: null, unpriced: false, ms: null, calls: 0 }
      began = Date.parse(s.at ?? '')
      turns.set(s.id, turn)
    }
    if (!turn || s.kind === 'said') continue
    turn.calls += s.calls.length
    if (s.spent) {
      if (s.spent.cost !== null) turn.cost = (turn.cost ?? 0n) + s.spent.cost
      turn.unpriced ||= s.spent.unpriced
    }
    const ms = endOf(s) - began
    if (ms >= 0 && Number.isFinite(ms)) turn.ms = Math.max(turn.ms ?? 0, ms)
  }
  return turns
}

/** Returns the transcript as plain text. */
export function asText(title: string, steps: readonly Step[]): string {
  const lines = steps.map(s => {
    const head = `[${s.at ?? '?'}] ${s.sender ?? words.strip.kinds[s.kind]}`
    if (s.kind !== 'tools') return `${head}\n${s.text}`
    const calls = s.calls.map(
      c => `- ${c.name} ${c.arguments ?? ''}\n${c.result === null ? words.step.noResultYet : c.result}`,
    )
    return `${head}: ${toldInWords(s.calls)}\n${calls.join('\n')}`
  })
  return `${title}\n\n${lines.join('\n\n')}\n`
}
