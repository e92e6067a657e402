import { memo, type ReactNode } from 'react'
import { day, money, tokens, unknown } from '../app/format'
import { sessions as sessionsWords } from '../texts/sessions'
import { Button } from '../ui/Button'
import { Clock } from '../ui/Clock'
import { Face } from '../ui/Face'
import { Icon, type IconName } from '../ui/Icon'
import { Markdown } from '../ui/Markdown'
import type { Outbox, Outgoing } from './outbox'
import { type Delivery, type Spent, type Step, toldInWords, usdOf } from './steps'
import { Cut, ToolCalls } from './ToolCalls'

const words = sessionsWords
const w = words.step
/** Longer texts are collapsed. */
const longText = 5000

interface Props {
  step: Step
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
export const StepView = memo(function StepView({ step, speaker, agent, isOpen, onToggle, outbox }: Props) {
  const open = isOpen.has(step.id)
  if (step.kind === 'said' && step.prompt)
    return (
      <Folded
        icon={step.prompt === 'task' ? 'tasks' : 'standups'}
        onToggle={onToggle}
        open={open}
        step={step}
        title={<span className="text-soft">{w.prompt[step.prompt]}</span>}
      >
        <Markdown className="max-w-[88ch]" text={step.text} />
        <Cut n={step.cut} />
      </Folded>
    )
  switch (step.kind) {
    case 'tools':
      return (
        <Folded icon="settings" onToggle={onToggle} open={open} step={step} title={<ToolsLine step={step} />}>
          <ToolCalls isOpen={isOpen} onToggle={onToggle} step={step} />
        </Folded>
      )
    case 'thinking':
      return (
        <Folded
          icon="more"
          onToggle={onToggle}
          open={open}
          step={step}
          title={<span className="text-soft">{w.thinkingOf(step.text.length + step.cut)}</span>}
        >
          <Markdown className="text-soft italic" text={step.text} />
          <Cut n={step.cut} />
        </Folded>
      )
    case 'note':
      return (
        <Line step={step}>
          <bdi className="text-soft italic">{step.text}</bdi>
        </Line>
      )
    case 'error':
      return (
        <div className="mx-3 my-1 flex items-start gap-2 rounded-md bg-danger-tint px-3 py-1.5 text-danger">
          <Icon className="mt-0.5" name="error" />
          <p className="wrap-anywhere min-w-0 grow">
            <span className="font-medium">{w.error}: </span>
            <bdi>{step.text}</bdi>
          </p>
          <Meta step={step} />
        </div>
      )
    default:
      return <Said agent={agent} onToggle={onToggle} open={open} outbox={outbox} speaker={speaker} step={step} />
  }
})

type SaidProps = Pick<Props, 'step' | 'speaker' | 'agent' | 'onToggle' | 'outbox'> & { open: boolean }

function Said({ step, speaker, agent, open, onToggle, outbox }: SaidProps) {
  const asked = step.kind === 'said'
  const long = step.text.length > longText && !open
  return (
    <div
      className={`px-3 py-1.5 ${asked ? 'border-accent border-l-2 bg-accent-tint' : 'border-transparent border-l-2'}`}
    >
      <p className="mb-0.5 flex items-center gap-2 text-xs">
        {step.role === 'assistant' && agent && <Face agent={agent} name={speaker} />}
        <span className={asked ? 'font-medium text-accent' : 'font-medium text-soft'}>
          <bdi>{asked ? (step.sender ?? w.user) : step.role === 'assistant' ? speaker || w.assistant : step.role}</bdi>
        </span>
        {step.delivery && <DeliveryMark of={step.delivery} speaker={speaker} />}
        {step.origin && <bdi className="truncate text-soft">{w.origin(step.origin)}</bdi>}
        <Meta step={step} />
      </p>
      <Markdown className="max-w-[88ch]" text={long ? step.text.slice(0, longText) : step.text} />
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

function Line({ step, children }: { step: Step; children: ReactNode }) {
  return (
    <div className="flex min-h-8 items-center gap-2 px-3 text-xs">
      {children}
      <Meta step={step} />
    </div>
  )
}

/** A collapsible line. */
function Folded({
  step,
  open,
  onToggle,
  icon,
  title,
  children,
}: {
  step: Step
  open: boolean
  onToggle: (id: string) => void
  icon: IconName
  title: ReactNode
  children: ReactNode
}) {
  return (
    <div className="px-3">
      <div className="flex min-h-8 items-center gap-2">
        <button
          aria-expanded={open}
          className="flex min-h-8 min-w-0 items-center gap-1.5 text-left hover:underline"
          onClick={() => onToggle(step.id)}
          type="button"
        >
          <Icon className="text-soft" name={open ? 'chevron' : 'right'} />
          <Icon className="text-soft" name={icon} />
          {title}
        </button>
        <Meta step={step} />
      </div>
      {open && <div className="mb-2 ml-5">{children}</div>}
    </div>
  )
}

function ToolsLine({ step }: { step: Step }) {
  const failed = step.calls.filter(c => c.is_error || c.status === 'failed').length
  const pending = step.calls.filter(c => c.status === 'pending').length
  return (
    <span className="wrap-anywhere min-w-0 py-1">
      <bdi>{toldInWords(step.calls)}</bdi>
      {failed > 0 && <span className="text-danger"> · {words.tools.failed(failed)}</span>}
      {pending > 0 && <span className="text-soft"> · {words.tools.pending(pending)}</span>}
    </span>
  )
}

const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

function timeOf(at: string): string {
  const d = new Date(at)
  if (Number.isNaN(d.getTime())) return unknown
  return d.toDateString() === new Date().toDateString() ? hour.format(d) : `${day(at)} ${hour.format(d)}`
}

/** The usage and time of a step. */
function Meta({ step }: { step: Step }) {
  return (
    <span className="ml-auto flex shrink-0 items-center gap-3 pl-2 text-soft text-xs">
      {step.spent && <SpentMark of={step.spent} />}
      {step.at && (
        <Clock at={step.at} className="whitespace-nowrap">
          {timeOf(step.at)}
        </Clock>
      )}
    </span>
  )
}

function SpentMark({ of }: { of: Spent }) {
  const all = of.input === null ? null : of.input + of.output + of.cached
  const cost =
    of.cost === null ? words.unpriced : of.unpriced ? words.partlyPriced(money(usdOf(of.cost))) : money(usdOf(of.cost))
  const help = w.usedHelp(of.models.join(', '), of.calls, tokens(of.input), tokens(of.output), tokens(of.cached))
  return (
    <span className="whitespace-nowrap" title={help}>
      <span className="hidden sm:inline">{all === null ? w.notCounted : w.used(tokens(all), cost)}</span>
      <span className="sm:hidden">{cost}</span>
    </span>
  )
}
