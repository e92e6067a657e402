import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { standups } from '../texts/standups'
import { Button } from '../ui/Button'
import { Markdown } from '../ui/Markdown'
import { Badge, type Look, State } from '../ui/State'
import { mentionsIn } from './decisions'
import { clipped, type Report, type Stand } from './standup'

const words = standups

export const standLook: Record<Stand, Look> = {
  opened: { tone: 'attention', icon: 'standups' },
  running: { tone: 'active', icon: 'pulse' },
  completed: { tone: 'done', icon: 'check' },
  error: { tone: 'danger', icon: 'error' },
  cancelled: { tone: 'idle', icon: 'close' },
  not_run: { tone: 'attention', icon: 'clock' },
}

export const StandMark = ({ of }: { of: Stand }) => <Badge {...standLook[of]}>{words.stand[of]}</Badge>

const reportLook: Record<Report['status'], Look> = {
  pending: { tone: 'idle', icon: 'sleep' },
  asked: { tone: 'active', icon: 'pulse' },
  answered: { tone: 'done', icon: 'check' },
  timed_out: { tone: 'danger', icon: 'clock' },
  failed: { tone: 'danger', icon: 'error' },
  missing: { tone: 'attention', icon: 'user' },
}

/** The status of a participant's answer. Problems have a colored background. */
export function ReportMark({ of, over = false }: { of: Report['status']; over?: boolean }) {
  if (over && of === 'asked') {
    return (
      <State icon="close" tone="idle">
        {words.notHeard}
      </State>
    )
  }
  const look = reportLook[of]
  const Mark = look.tone === 'danger' || look.tone === 'attention' ? Badge : State
  return (
    <Mark icon={look.icon} tone={look.tone}>
      {words.report[of]}
    </Mark>
  )
}

export const TaskLink = ({ of, small = false }: { of: string; small?: boolean }) => (
  <Link className={`key text-accent underline ${small ? 'text-xs' : ''}`} params={{ key: of }} to="/tasks/$key">
    {of}
  </Link>
)

/** A text in which the keys of tasks are links, with the title where a task is mentioned first. */
export function Linked({ text, titles }: { text: string; titles: ReadonlyMap<string, string> }) {
  return (
    <bdi>
      {mentionsIn(text, titles).map((part, i) =>
        typeof part === 'string' ? (
          part
        ) : part.title ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text
          <span key={i}>
            <bdi>“{part.title}”</bdi> <TaskLink of={part.key} small />
          </span>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text
          <TaskLink key={i} of={part.key} />
        ),
      )}
    </bdi>
  )
}

const days = {
  short: new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', weekday: 'short', day: 'numeric', month: 'short' }),
  long: new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'full' }),
}

/** Formats a calendar day, which is the same in every time zone. */
export function dayText(date: string, length: keyof typeof days = 'short'): string {
  const at = Date.parse(`${date}T00:00:00Z`)
  return Number.isNaN(at) ? date : days[length].format(at)
}

/** A long text, collapsed until expanded. */
export function Long({ text, className = '' }: { text: string; className?: string }) {
  const [whole, setWhole] = useState(false)
  const cut = whole ? null : clipped(text)
  return (
    <div className={className}>
      <Markdown keys text={cut ?? text} />
      {cut !== null && (
        <p className="mt-2 flex flex-wrap items-center gap-2 text-soft text-xs">
          {words.cut(text.length)}
          <Button onClick={() => setWhole(true)}>{words.showAll(text.length)}</Button>
        </p>
      )}
    </div>
  )
}

/** A titled section. */
export function Part({ title, count, children }: { title: string; count?: number; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-2" data-steady>
      <h3 className="font-semibold text-base">
        {title}
        {count ? <span className="ml-2 font-normal text-soft text-sm">{count}</span> : null}
      </h3>
      {children}
    </section>
  )
}
