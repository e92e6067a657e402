import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { addDays } from '../app/days'
import { standups } from '../texts/standups'
import { IconButton } from '../ui/Button'
import { State } from '../ui/State'
import { dayText, standLook } from './Bits'
import { dayAddress, listQuery } from './queries'
import { calendar, type Day, type Stand, standOf } from './standup'

const words = standups
/** Number of days shown, which fit side by side on a desktop. */
export const shown = 12

/** The standups of the days up to `until`. */
const daysQuery = (team: string, until: string) => listQuery(team, addDays(until, 1 - shown), until)

interface Props {
  team: string
  today: string
  until: string
  opened: string | undefined
  onUntil: (until: string) => void
  /** Search parameters that other days keep. */
  kept: string | undefined
}

/** The last days that had a standup, with its status, and today. */
export function DayStrip({ team, today, until, opened, onUntil, kept }: Props) {
  const asked = useQuery({ ...daysQuery(team, until), placeholderData: keepPreviousData })
  const row = useRef<HTMLOListElement>(null)
  const isKnown = asked.data !== undefined
  const days = calendar(until, shown, asked.data ?? []).filter(
    d => d.standup || d.date === opened || (isKnown && d.date === today),
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: opening another day must scroll to it
  useEffect(() => {
    const [list, current] = [row.current, row.current?.querySelector<HTMLElement>('[aria-current]')]
    if (list) list.scrollLeft = current ? current.offsetLeft - list.clientWidth / 2 : list.scrollWidth
  }, [opened, until, isKnown])
  return (
    <nav aria-label={words.days.label} className="no-print flex items-center gap-1 border-line border-b px-1 py-1">
      <IconButton icon="left" label={words.days.earlier} onClick={() => onUntil(addDays(until, 1 - shown))} />
      <ol
        ref={row}
        className="relative flex min-h-8 min-w-0 grow overflow-x-auto outline-offset-[-2px] pointer-coarse:min-h-10"
        data-scroll="own"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable, so it must be focusable
        tabIndex={0}
      >
        {days.map(d => (
          <Cell key={d.date} day={d} kept={kept} opened={d.date === opened} team={team} today={today} />
        ))}
      </ol>
      {isKnown && days.length === 0 && <p className="grow-[99] text-soft text-xs">{words.days.none}</p>}
      <IconButton
        disabled={until >= today}
        icon="right"
        label={words.days.later}
        onClick={() => {
          const next = addDays(until, shown - 1)
          onUntil(next > today ? today : next)
        }}
      />
    </nav>
  )
}

interface CellProps {
  day: Day
  team: string
  today: string
  opened: boolean
  kept: string | undefined
}

function Cell({ day, team, today, opened, kept }: CellProps) {
  const { date, standup } = day
  const stand = standup && standOf(standup)
  const name = (
    <span className={`text-xs ${date === today ? 'font-semibold' : ''}`}>
      {dayText(date)}
      {date === today && <span className="sr-only"> ({words.days.today})</span>}
    </span>
  )
  const cell = 'flex h-8 items-center justify-center gap-1 whitespace-nowrap rounded-md px-1 pointer-coarse:h-10'
  return (
    <li className="min-w-[6.75rem] max-w-40 grow basis-0">
      {stand ? (
        <Link
          aria-current={opened ? 'page' : undefined}
          className={`${cell} outline-offset-[-2px] ${opened ? 'bg-accent-tint' : 'hover:bg-hover'}`}
          search={{ ...dayAddress(team, date), until: kept }}
          to="/standups"
        >
          <StandIcon of={stand} />
          {name}
        </Link>
      ) : (
        <span className={`${cell} text-soft`}>
          {name}
          <span className="sr-only">{words.noStandup}</span>
        </span>
      )}
    </li>
  )
}

/** The status of a day. The icon is enough for a standup that was completed. */
const StandIcon = ({ of }: { of: Stand }) => (
  <span className="text-xs" title={words.stand[of]}>
    <State icon={standLook[of].icon} tone={standLook[of].tone}>
      <span className="sr-only">{words.stand[of]}</span>
    </State>
  </span>
)
