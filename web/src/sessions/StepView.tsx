import { memo, type ReactNode } from 'react'
import { day, money, span, tokens, unknown, usd } from '../app/format'
import { sessions as sessionsWords } from '../texts/sessions'
import { Button } from '../ui/Button'
import { Clock } from '../ui/Clock'
import { Face } from '../ui/Face'
import { Icon, type IconName } from '../ui/Icon'
import { Markdown } from '../ui/Markdown'
import type { Outbox, Outgoing } from './outbox'
import { type Delivery, isFailed, type Spent, type Step, type Turn, toldInWords } from './steps'
import { Cut, ToolCalls } from './ToolCalls'

const words = sessionsWords
const w = words.step
/** Longer texts are collapsed. */
const longText = 5000
/** More calls are behind a line that sums them up. */
const fewCalls = 5
const measure = 'max-w-[84ch]'

interface Props {
  step: Step
  /** The turn that the step begins. */
  turn: Turn | undefined
  /** Whether the step before it is of someone else. */
  first: boolean
  /** The agent's name, or empty. */
  speaker: string
  /** The agent's ID, or empty. */
  agent: string
  /** IDs of expanded steps, and of calls within them. */
  isOpen: ReadonlySet<string>
  onToggle: (id: string) => void
  outbox?: Outbox | undefined
}

/** One step of a transcript. Memoized, so that scrolling doesn't render visible steps again. */
export const StepView = memo(function StepView(p: Props) {
  const { step, turn, first, agent, speaker } = p
  const said = step.kind === 'said'
  return (
    <article className="grid max-w-page grid-cols-[1.75rem_minmax(0,1fr)] gap-x-2 px-3 py-1 md:grid-cols-[3.25rem_1.75rem_minmax(0,1fr)_7.5rem]">
      <span className="pt-1 text-right text-soft text-xs max-md:hidden">{step.at && <Time at={step.at} />}</span>
      <span className="pt-0.5">
        {first && (said ? <Who of={step} /> : agent && <Face agent={agent} name={speaker} size="md" />)}
      </span>
      <div className="min-w-0">
        <Body {...p} />
        <p className="flex items-center gap-2 text-soft text-xs md:hidden">
          {step.at && <Time at={step.at} />}
          {turn ? <TurnTotal of={turn} /> : step.spent && <SpentMark of={step.spent} />}
        </p>
      </div>
      <span className="flex flex-col items-end pt-1 text-right text-soft text-xs max-md:hidden">
        {turn ? <TurnTotal of={turn} /> : step.spent && <SpentMark of={step.spent} />}
      </span>
    </article>
  )
})

/** The face of who wrote to the agent. */
function Who({ of: step }: { of: Step }) {
  if (step.sender && !step.prompt) return <Face agent={null} name={step.sender} size="md" />
  const icon: IconName = step.prompt === 'standup' ? 'standups' : step.prompt ? 'tasks' : 'comment'
  return (
    <span className="flex size-6 items-center justify-center rounded-full bg-hover text-soft">
      <Icon className="size-3.5" name={icon} />
    </span>
  )
}

function Body({ step, speaker, isOpen, onToggle, outbox }: Props) {
  const open = isOpen.has(step.id)
  if (step.kind === 'said' && step.prompt)
    return (
      <Folded onToggle={onToggle} open={open} step={step} title={w.prompt[step.prompt]}>
        <Markdown className={measure} text={step.text} />
        <Cut n={step.cut} />
      </Folded>
    )
  switch (step.kind) {
    case 'tools':
      return step.calls.length <= fewCalls ? (
        <ToolCalls isOpen={isOpen} onToggle={onToggle} step={step} />
      ) : (
        <Folded onToggle={onToggle} open={open} step={step} title={<ToolsLine step={step} />}>
          <ToolCalls isOpen={isOpen} onToggle={onToggle} step={step} />
        </Folded>
      )
    case 'thinking':
      return (
        <Folded onToggle={onToggle} open={open} step={step} title={w.thinkingOf(step.text.length + step.cut)}>
          <Markdown className={`text-soft italic ${measure}`} text={step.text} />
          <Cut n={step.cut} />
        </Folded>
      )
    case 'note':
      return (
        <p className="py-1 text-soft text-xs italic" data-find="-1">
          <bdi>{step.text}</bdi>
        </p>
      )
    case 'error':
      return (
        <p className="wrap-anywhere my-0.5 flex gap-2 rounded-md bg-danger-tint px-3 py-1.5 text-danger">
          <Icon className="mt-0.5" name="error" />
          <span className="min-w-0">
            <span className="font-medium">{w.error}: </span>
            <bdi data-find="-1">{step.text}</bdi>
          </span>
        </p>
      )
    default:
      return <Said onToggle={onToggle} open={open} outbox={outbox} speaker={speaker} step={step} />
  }
}

type SaidProps = Pick<Props, 'step' | 'speaker' | 'onToggle' | 'outbox'> & { open: boolean }

/** A message to the agent, or an answer of the agent. */
function Said({ step, speaker, open, onToggle, outbox }: SaidProps) {
  const asked = step.kind === 'said'
  const long = step.text.length > longText && !open
  const who = asked ? (step.sender ?? w.user(speaker || w.agentName)) : step.role === 'assistant' ? speaker : step.role
  return (
    <div className={asked ? 'hairline rounded-md bg-panel px-3 py-2' : 'py-0.5'}>
      <p className={asked ? 'mb-0.5 flex flex-wrap items-center gap-x-2 text-xs' : 'sr-only'}>
        <bdi className="font-medium">{who || w.assistant}</bdi>
        {step.delivery && <DeliveryMark of={step.delivery} speaker={speaker} />}
        {step.origin && <bdi className="truncate text-soft">{w.origin(step.origin)}</bdi>}
      </p>
      <div data-find="-1">
        <Markdown className={measure} text={long ? step.text.slice(0, longText) : step.text} />
      </div>
      {long && (
        <Button className="mt-1" icon="down" onClick={() => onToggle(step.id)}>
          {w.showAll(step.text.length)}
        </Button>
      )}
      {!long && <Cut n={step.cut} />}
      {step.delivery === 'failed' && step.outgoing && outbox && <NotSent of={step.outgoing} outbox={outbox} />}
    </div>
  )
}

const marks = {
  sending: { icon: 'clock', color: 'text-soft' },
  failed: { icon: 'error', color: 'text-danger' },
  sent: { icon: 'check', color: 'text-soft' },
  dropped: { icon: 'blocked', color: 'text-danger' },
  read: { icon: 'checks', color: 'text-soft' },
} as const

/** How far a user's message has come: sending, sent, read, or neither. */
function DeliveryMark({ of, speaker }: { of: Delivery; speaker: string }) {
  const { icon, color } = marks[of]
  return (
    <span className={`inline-flex items-center gap-1 ${color}`} role={of === 'read' ? undefined : 'status'}>
      <Icon className="size-3.5" name={icon} />
      {w.delivery[of](speaker || w.agentName)}
    </span>
  )
}

/** Why a message was not sent, and what to do with its text. */
function NotSent({ of, outbox }: { of: Outgoing; outbox: Outbox }) {
  const { problem } = of
  const maybe = problem?.facts.maybe_sent === true
  return (
    <div className="mt-1 flex flex-wrap items-center gap-2 text-xs">
      <p className="wrap-anywhere text-danger" role="alert">
        {problem?.title} {maybe ? words.send.maybe : problem?.detail}
      </p>
      <Button icon="reload" onClick={() => outbox.again(of.id)}>
        {words.send.again}
      </Button>
      <Button look="quiet" onClick={() => outbox.discard([of.id])}>
        {words.send.discard}
      </Button>
    </div>
  )
}

interface FoldedProps {
  step: Step
  open: boolean
  onToggle: (id: string) => void
  title: ReactNode
  children: ReactNode
}

/** A collapsible line. */
function Folded({ step, open, onToggle, title, children }: FoldedProps) {
  return (
    <>
      <button
        aria-expanded={open}
        className="flex min-h-7 min-w-0 items-center gap-2 text-left text-soft hover:underline pointer-coarse:min-h-10"
        onClick={() => onToggle(step.id)}
        type="button"
      >
        <Icon className="text-soft" name={open ? 'chevron' : 'right'} />
        {title}
      </button>
      {open && (
        <div className="mb-2 ml-6" {...(step.kind === 'tools' ? {} : { 'data-find': -1 })}>
          {children}
        </div>
      )}
    </>
  )
}

function ToolsLine({ step }: { step: Step }) {
  const failed = step.calls.filter(isFailed).length
  const pending = step.calls.filter(c => c.status === 'pending').length
  return (
    <span className="wrap-anywhere min-w-0 py-1 text-ink">
      <bdi>{toldInWords(step.calls)}</bdi>
      {failed > 0 && <span className="text-danger"> · {words.tools.failed(failed)}</span>}
      {pending > 0 && <span className="text-soft"> · {words.tools.pending(pending)}</span>}
    </span>
  )
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })

/** The time of a step. Its day stands above the first step of the day. */
function Time({ at }: { at: string }) {
  const time = new Date(at)
  return (
    <Clock at={at} className="whitespace-nowrap">
      {Number.isNaN(time.getTime()) ? unknown : clock.format(time)}
    </Clock>
  )
}

/** A new day, or a long pause, between two steps. */
export function Between({ before, at }: { before: string | null; at: string | null }) {
  if (!at) return null
  const newDay = !before || new Date(before).toDateString() !== new Date(at).toDateString()
  const pause = before ? Date.parse(at) - Date.parse(before) : 0
  if (!newDay && pause < 1_800_000) return null
  return (
    <p className="flex max-w-page items-center gap-3 px-3 py-2 text-soft text-xs before:grow before:border-line before:border-t after:grow after:border-line after:border-t">
      {[newDay && day(at), pause >= 1_800_000 && w.later(span(pause))].filter(Boolean).join(' · ')}
    </p>
  )
}

const costOf = (of: { cost: bigint | null; unpriced: boolean }) =>
  of.cost === null ? words.unpriced : of.unpriced ? words.partlyPriced(money(usd(of.cost))) : money(usd(of.cost))

/** How long a turn took, and what it cost. */
function TurnTotal({ of: t }: { of: Turn }) {
  if (t.ms === null && t.cost === null) return null
  return (
    <span className="inline-flex flex-wrap justify-end gap-x-1" title={w.turn}>
      {t.cost !== null && <span className="font-medium text-ink tabular-nums">{costOf(t)}</span>}
      {t.ms !== null && w.within(span(t.ms))}
    </span>
  )
}

function SpentMark({ of }: { of: Spent }) {
  const help = w.usedHelp(of.models.join(', '), of.calls, tokens(of.input), tokens(of.output), tokens(of.cached))
  return (
    <span className="whitespace-nowrap tabular-nums" title={help}>
      {costOf(of)}
    </span>
  )
}
