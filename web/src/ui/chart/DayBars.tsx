import type { Hue } from '../hue'
import { fillOf } from './looks'

export interface DayBar {
  id: string
  day: string
  value: string
  /** The height from 0 to 100; null if unknown. */
  size: number | null
}

/** One bar per day, with or without its day and value. The label has them all: a screen reader sees one image. */
export function DayBars({
  label,
  hue,
  bars,
  texts = false,
}: {
  label: string
  hue: Hue
  bars: readonly DayBar[]
  texts?: boolean
}) {
  return (
    <div aria-label={label} className={texts ? 'flex h-28 text-xs' : 'flex h-6 w-28 min-w-14 gap-[3px]'} role="img">
      {bars.map(b => (
        <div
          key={b.id}
          className="flex h-full min-w-0 grow basis-0 flex-col items-center gap-1"
          title={`${b.day}: ${b.value}`}
        >
          {texts && <span>{b.value}</span>}
          <svg
            aria-hidden="true"
            className="min-h-0 w-full max-w-10 grow"
            preserveAspectRatio="none"
            viewBox="0 0 10 100"
          >
            {b.size === null ? (
              <path
                className="stroke-line-strong"
                d="M1 98H9"
                strokeDasharray="2 2"
                vectorEffect="non-scaling-stroke"
              />
            ) : (
              <rect className={fillOf(hue)} height={Math.max(3, b.size)} width="10" y={100 - Math.max(3, b.size)} />
            )}
          </svg>
          {texts && <span className="text-soft">{b.day.split(',')[0]?.split(' ')[0]}</span>}
        </div>
      ))}
    </div>
  )
}
