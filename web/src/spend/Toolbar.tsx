import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { myZone } from '../app/format'
import { leads, useMe } from '../app/queries'
import { spend } from '../texts/spend'
import { buttonClass, IconButton } from '../ui/Button'
import { DayField } from '../ui/DayField'
import { Menu, type MenuGroup } from '../ui/Menu'
import { Segments } from '../ui/Segments'
import { saveReport } from './download'
import { limitsQuery } from './limitQueries'
import { type Ask, type Days, periods } from './period'
import type { Group } from './report'
import { type Go, measures, type SpendSearch } from './search'

const words = spend

interface Props {
  search: SpendSearch
  go: Go
  ask: Ask
  service: string | undefined
  today: string
  days: Days
}

/** The period, and a menu of everything that is changed rarely. All of it is in the URL. */
export function Toolbar({ search, go, ask, service, today, days }: Props) {
  const period = search.period ?? 'week'
  const items = useItems(search, go, ask, service)
  return (
    <div className="flex flex-wrap items-center gap-2">
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
        <span className="flex gap-2 max-sm:order-1">
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
        </span>
      )}
      <Menu groups={items} trigger={<IconButton icon="more" label={words.options} look="plain" />} />
      <FirstLimit />
    </div>
  )
}

/** The way to a first limit, for those who may set one, while there is none. A phone has only the tab. */
function FirstLimit() {
  const may = leads(useMe().data)
  const none = useQuery(limitsQuery).data?.limits.length === 0
  if (!may || !none) return null
  return (
    <Link
      className={buttonClass('plain', 'ml-auto max-sm:hidden')}
      from="/spend"
      search={was => ({ ...was, part: 'limits' as const })}
      to="/spend"
    >
      {words.setLimit}
    </Link>
  )
}

/** Returns what the chart measures, time zones if there is a choice, and downloads. */
function useItems(search: SpendSearch, go: Go, ask: Ask, service: string | undefined): MenuGroup[] {
  const cache = useQueryClient()
  const by: Group = search.by ?? 'agent'
  const mine = myZone()
  const zones = [...new Set([service ?? ask.zone, mine, 'UTC', ask.zone])]
  return [
    {
      label: words.measure.label,
      items: measures.map(m => ({
        id: m,
        label: words.measure[m],
        checked: m === (search.measure ?? 'cost'),
        onSelect: () => go({ measure: m === 'cost' ? undefined : m }, true),
      })),
    },
    ...(zones.length > 1
      ? [
          {
            label: words.zone,
            items: zones.map(z => ({
              id: z,
              label: z === service ? words.zoneService(z) : z === mine ? words.zoneMine(z) : z,
              checked: z === ask.zone,
              onSelect: () => go({ zone: z === service ? undefined : z }),
            })),
          },
        ]
      : []),
    {
      label: words.csv,
      items: [
        {
          id: 'time',
          label: words.overTime,
          icon: 'down',
          onSelect: () => void saveReport(cache, ask, by, true),
        },
        { id: 'groups', label: words.by[by as 'agent'], icon: 'down', onSelect: () => void saveReport(cache, ask, by) },
        {
          id: 'sessions',
          label: words.bySession,
          icon: 'down',
          onSelect: () => void saveReport(cache, ask, 'session'),
        },
      ],
    },
  ]
}
