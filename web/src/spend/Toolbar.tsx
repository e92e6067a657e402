import { useMemo } from 'react'
import { myZone } from '../app/format'
import { useDrawn } from '../app/idle'
import { spend } from '../texts/spend'
import { DayField } from '../ui/DayField'
import { type Choice, Select } from '../ui/Field'
import { Segments } from '../ui/Segments'
import { periods } from './period'
import { type Go, groups, measures, type SpendSearch } from './search'

const words = spend

interface Props {
  search: SpendSearch
  go: Go
  zone: string
  service: string | undefined
  today: string
  days: { first: string; last: string }
}

/** Period, time zone, and grouping. All of them are in the URL. */
export function Toolbar({ search, go, zone, service, today, days }: Props) {
  // The full list has over 400 time zones, needed only once it opens.
  const all = useDrawn()
  const zones = useMemo(() => zoneChoices(zone, service, all), [zone, service, all])
  const period = search.period ?? 'week'
  return (
    <div className="flex flex-wrap items-end gap-2">
      <Segments
        choices={periods.map(p => ({ value: p, label: words.period[p] }))}
        label={words.period.label}
        onChange={p =>
          go({
            period: p === 'week' ? undefined : p,
            // A custom range starts with the current days.
            from: p === 'days' ? days.first : undefined,
            to: p === 'days' ? days.last : undefined,
          })
        }
        value={period}
      />
      {period === 'days' && (
        <>
          <DayField
            className="w-36"
            hideLabel
            label={words.from}
            max={days.last}
            onPick={day => day && go({ from: day }, true)}
            value={days.first}
          />
          <DayField
            className="w-36"
            hideLabel
            label={words.to}
            max={today > days.last ? today : days.last}
            min={days.first}
            onPick={day => day && go({ to: day }, true)}
            value={days.last}
          />
        </>
      )}
      <Select
        choices={zones}
        className="w-full min-[28rem]:w-52"
        hideLabel
        label={words.zone}
        onChange={e => go({ zone: e.target.value === service ? undefined : e.target.value })}
        value={zone}
      />
      <Select
        choices={groups.map(g => ({ value: g, label: words.by[g] }))}
        className="w-32"
        hideLabel
        label={words.by.label}
        onChange={e => go({ by: groups.find(g => g === e.target.value && g !== 'agent') }, true)}
        value={search.by ?? 'agent'}
      />
      <Segments
        choices={measures.map(m => ({ value: m, label: words.measure[m] }))}
        label={words.measure.label}
        onChange={m => go({ measure: m === 'cost' ? undefined : m }, true)}
        value={search.measure ?? 'cost'}
      />
    </div>
  )
}

/** Returns the time zones: the server's, the local one, UTC, the one in the URL, then all others. */
function zoneChoices(zone: string, service: string | undefined, all: boolean): Choice[] {
  const mine = myZone()
  const name = (z: string) => (z === service ? words.zoneService(z) : z === mine ? words.zoneMine(z) : z)
  const names = new Set([service ?? zone, mine, 'UTC', zone, ...(all ? Intl.supportedValuesOf('timeZone') : [])])
  return [...names].map(z => ({ value: z, label: name(z) }))
}
