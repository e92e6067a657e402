import { memo, type ReactNode, useDeferredValue, useMemo, useState } from 'react'
import { grouped, moment, span, unknown } from '../app/format'
import { sessions as sessionsWords } from '../texts/sessions'
import { Button } from '../ui/Button'
import { grounds } from '../ui/Face'
import { hueOf } from '../ui/hue'
import { isFailed, type Step, type StepKind, toldInWords } from './steps'
import { type Bar, timelineOf } from './timeline'

const words = sessionsWords.strip

/** Colors and heights, so that neither is needed alone. The agent's own steps have its color. */
const looks: Record<StepKind, { ground: string; height: string }> = {
  said: { ground: 'bg-ink', height: 'h-6' },
  text: { ground: '', height: 'h-4' },
  tools: { ground: 'bg-chart-rest', height: 'h-3' },
  thinking: { ground: 'bg-line-strong', height: 'h-1.5' },
  error: { ground: 'bg-danger', height: 'h-1' },
  note: { ground: 'bg-line-strong', height: 'h-1' },
}
const order: readonly StepKind[] = ['said', 'text', 'tools', 'thinking', 'error', 'note']
/** Maximum number of bars. */
const most = 240

interface Props {
  steps: readonly Step[]
  /** The agent's ID, or empty. */
  agent: string
  onGo: (index: number) => void
  /** Further actions. */
  more: ReactNode
}

const percent = (part: number) => `${(part * 100).toFixed(2)}%`

/** The session on an axis of time: a bar per step, as long as the step took. */
export const Timeline = memo(function Timeline({ steps: latest, agent, onGo, more }: Props) {
  // Drawn after the transcript, which must not wait for it.
  const steps = useDeferredValue(latest)
  const timeline = useMemo(() => timelineOf(steps, most), [steps])
  const counts = useMemo(() => {
    const n = new Map<StepKind, number>()
    const add = (kind: StepKind, by: number) => by > 0 && n.set(kind, (n.get(kind) ?? 0) + by)
    for (const s of steps) {
      add(s.kind, s.kind === 'tools' ? s.calls.length : 1)
      add('error', s.calls.filter(isFailed).length)
    }
    return n
  }, [steps])
  const [open, setOpen] = useState(false)
  const there = order.filter(kind => counts.has(kind))
  const ground = (kind: StepKind) => looks[kind].ground || grounds[hueOf(agent)]
  return (
    <section aria-label={words.label} className="shrink-0 border-line border-b">
      <div className="max-w-page px-3 sm:pt-2 sm:pb-1">
        <div className={open ? '' : 'max-sm:hidden'}>
          <Picture ground={ground} of={timeline} onGo={onGo} steps={steps} />
        </div>
        <div className="flex flex-wrap items-center gap-x-3 text-soft text-xs">
          {/* A phone has no room for it beside the transcript. */}
          <Button
            aria-expanded={open}
            className="-ml-2.5 sm:hidden"
            icon={open ? 'chevron' : 'right'}
            look="quiet"
            onClick={() => setOpen(!open)}
          >
            {words.label}
          </Button>
          <span
            className={`flex flex-wrap gap-x-3 max-sm:order-first max-sm:basis-full ${open ? '' : 'max-sm:hidden'}`}
          >
            {there.map(kind => (
              <span key={kind} className="flex items-center gap-1">
                <span aria-hidden="true" className={`size-2 rounded-sm ${ground(kind)}`} />
                {words.kinds[kind]} {grouped(counts.get(kind) ?? 0)}
              </span>
            ))}
          </span>
          <span className="ml-auto flex items-center gap-1">{more}</span>
        </div>
      </div>
    </section>
  )
})

interface PictureProps {
  of: ReturnType<typeof timelineOf>
  steps: readonly Step[]
  ground: (kind: StepKind) => string
  onGo: Props['onGo']
}

function Picture({ of: { bars, faults, pauses, ticks }, steps, ground, onGo }: PictureProps) {
  const [at, setAt] = useState(Number.POSITIVE_INFINITY)
  const current = Math.min(at, bars.length - 1)
  const go = (to: number) => {
    const index = Math.max(0, Math.min(bars.length - 1, to))
    setAt(index)
    if (bars[index]) onGo(bars[index].from)
  }
  const moves: Record<string, number> = {
    ArrowLeft: current - 1,
    ArrowRight: current + 1,
    Home: 0,
    End: bars.length - 1,
  }
  return (
    <div
      aria-label={words.position}
      aria-valuemax={bars.length}
      aria-valuemin={1}
      aria-valuenow={current + 1}
      aria-valuetext={bars[current] && titleOf(bars[current], steps)}
      className="relative h-12 cursor-pointer overflow-hidden -outline-offset-2"
      onClick={e => {
        const box = e.currentTarget.getBoundingClientRect()
        const place = (e.clientX - box.left) / box.width
        const far = (b: Bar | undefined) => (b ? Math.max(b.x - place, place - b.x - b.width, 0) : 1)
        go(bars.reduce((best, b, i) => (far(bars[best]) <= far(b) ? best : i), 0))
      }}
      onKeyDown={e => {
        const to = moves[e.key]
        if (to === undefined) return
        e.preventDefault()
        go(to)
      }}
      role="slider"
      tabIndex={0}
    >
      <div className="absolute inset-x-0 top-7 border-line-strong border-t" />
      {bars.map(b => (
        <div
          key={b.from}
          className={`absolute bottom-5 min-w-[3px] rounded-t-[1px] border-ground border-r ${ground(b.kind)} ${looks[b.kind].height}`}
          data-kind={b.kind}
          style={{ left: percent(b.x), width: percent(b.width) }}
          title={titleOf(b, steps)}
        />
      ))}
      {faults.map(e => (
        <div
          key={e.x}
          className="absolute top-0 bottom-5 w-[3px] -translate-x-full bg-danger before:absolute before:-left-[2px] before:size-[7px] before:rounded-full before:bg-danger"
          data-kind="error"
          style={{ left: percent(e.x) }}
          title={words.kinds.error}
        />
      ))}
      {pauses.map(p => (
        <div
          key={p.x}
          className="@container absolute top-0 flex h-7 items-center justify-center border-line border-x border-dashed bg-panel text-soft text-xs"
          data-pause={p.ms}
          style={{ left: percent(p.x), width: percent(p.width) }}
          title={words.pause(span(p.ms))}
        >
          <span className="@min-[3rem]:hidden">⋯</span>
          <span className="hidden whitespace-nowrap @min-[3rem]:inline">{pauses.length <= 5 ? span(p.ms) : '⋯'}</span>
        </div>
      ))}
      {ticks.map((t, i) => (
        <span
          key={t.x}
          className={`absolute bottom-0 h-5 border-line-strong border-l pl-1 text-soft text-xs leading-5 whitespace-nowrap tabular-nums ${i % 3 === 0 && t.x < 0.75 ? '' : 'max-md:hidden'}`}
          style={{ left: percent(t.x) }}
        >
          {t.label}
        </span>
      ))}
    </div>
  )
}

function titleOf(b: Bar, steps: readonly Step[]): string {
  const step = steps[b.from]
  const what = step?.kind === 'tools' && b.count === 1 ? toldInWords(step.calls) : words.kinds[b.kind]
  return [b.count > 1 ? `${what}, ${words.steps(b.count)}` : what, step?.at ? moment(step.at) : unknown].join('\n')
}
