import { useQuery } from '@tanstack/react-query'
import * as clock from '../app/clock'
import { shortIn } from '../app/format'
import { localTimes } from '../app/localTimes'
import { schedules as scheduleTexts } from '../texts/schedules'
import type { IconName } from '../ui/Icon'
import { State, type Tone } from '../ui/State'
import type { Job } from './job'
import { shownSlots, slotsQuery } from './queries'
import { lastSlots, type Slot, slotWords } from './slots'

const words = scheduleTexts

interface Look {
  tone: Tone
  icon: IconName
  ink: string
  /** An SVG path within 10 by 10. Each state has its own shape, so that color isn't needed. */
  shape: string
  filled: boolean
}

const disc = 'M5 1.2a3.8 3.8 0 1 1 0 7.600a3.8 3.8 0 1 1 0-7.600z'

const slotLooks: Record<Slot['state'], Look> = {
  on_time: { tone: 'active', icon: 'check', ink: 'text-active', shape: disc, filled: true },
  late: {
    tone: 'attention',
    icon: 'clock',
    ink: 'text-attention',
    shape: `${disc}M5 2.800v2.400l1.700 1.100`,
    filled: false,
  },
  missed: {
    tone: 'danger',
    icon: 'close',
    ink: 'text-danger',
    shape: 'M1.500 1.500l7 7M8.500 1.500l-7 7',
    filled: false,
  },
  failed: {
    tone: 'danger',
    icon: 'error',
    ink: 'text-danger',
    shape: 'M1.200 1.200h7.600v7.600h-7.600z',
    filled: true,
  },
  skipped: { tone: 'idle', icon: 'sleep', ink: 'text-idle', shape: 'M1.500 5h7', filled: false },
  running: {
    tone: 'active',
    icon: 'pulse',
    ink: 'text-active',
    shape: `${disc}M5 4.400a.600.600 0 1 1 0 1.200a.600.600 0 1 1 0-1.200z`,
    filled: false,
  },
  pending: { tone: 'idle', icon: 'clock', ink: 'text-idle', shape: disc, filled: false },
  unknown: {
    tone: 'attention',
    icon: 'info',
    ink: 'text-idle',
    shape: 'M3.200 3.400a1.800 1.800 0 1 1 2.700 1.500c-.700.400-.900.700-.900 1.400M5 8.300h.01',
    filled: false,
  },
}

/** The state of a slot as icon, word, and color. */
export const SlotMark = ({ of }: { of: Slot['state'] }) => (
  <State icon={slotLooks[of].icon} tone={slotLooks[of].tone}>
    {words.state[of]}
  </State>
)

const Shape = ({ of: look }: { of: Look }) => (
  <path
    d={look.shape}
    fill={look.filled ? 'currentColor' : 'none'}
    stroke="currentColor"
    strokeLinecap="round"
    strokeWidth="1.5"
  />
)

/** What the shapes mean. */
export const SlotLegend = () =>
  (['on_time', 'late', 'missed', 'failed'] as const).map(state => (
    <span className="inline-flex items-center gap-1.5" key={state}>
      <svg aria-hidden="true" className={slotLooks[state].ink} height="10" viewBox="0 0 10 10" width="10">
        <Shape of={slotLooks[state]} />
      </svg>
      {words.state[state]}
    </span>
  ))

/** The last slots of a job as a row of shapes. Its label has the counts; the panel shows them as a table. */
export function SlotDots({ job }: { job: Job }) {
  const asked = useQuery(slotsQuery(job))
  if (!asked.data)
    return asked.error ? (
      <span className="text-soft">{words.state.unknown}</span>
    ) : (
      <span className="skeleton h-3 w-32" />
    )
  const slots = lastSlots(asked.data, shownSlots, clock.now())
  return slots.length === 0 ? <span className="text-soft text-xs">{words.noSlots}</span> : <DotRow slots={slots} />
}

/** Slots as shapes, newest on the right. */
export function DotRow({ slots }: { slots: readonly Slot[] }) {
  return (
    <svg
      aria-label={words.slotsAre(slotWords(slots))}
      className="shrink-0"
      height="10"
      role="img"
      viewBox={`0 0 ${shownSlots * 12} 10`}
      width={shownSlots * 12}
    >
      {slots.map((s, i) => {
        const look = slotLooks[s.state]
        const left = (shownSlots - slots.length + i) * 12
        return (
          <g key={s.due_at} className={look.ink} transform={`translate(${left} 0)`}>
            <title>{`${shortIn(s.due_at)}: ${words.state[s.state]}${s.reason ? `. ${localTimes(s.reason, s.due_at)}` : ''}`}</title>
            <rect fill="transparent" height="10" width="12" x="-1" />
            <Shape of={look} />
          </g>
        )
      })}
    </svg>
  )
}
