import { useState } from 'react'
import { inbox as inboxWords } from '../texts/inbox'
import { Button } from '../ui/Button'
import { type Choice, Select } from '../ui/Field'
import { kinds, orders, severities, states } from './item'
import { filtersOf, isFiltered } from './itemFilters'
import type { Go, InboxSearch } from './search'
import { useAssignees } from './useItemActions'

const words = inboxWords
const w = words.filters
const f = words.fields

/** Clears all filters. */
export const cleared: InboxSearch = {
  state: undefined,
  kind: undefined,
  severity: undefined,
  assignee: undefined,
} satisfies InboxSearch

const every = states.join()
const pressing = 'urgent,high'

/** Returns the options, plus the current value if it is not among them. */
function choices(list: readonly Choice[], chosen: string | undefined, names: Record<string, string>): Choice[] {
  if (!chosen || list.some(c => c.value === chosen)) return [...list]
  const label = chosen
    .split(',')
    .map(v => names[v] ?? v)
    .join(', ')
  return [...list, { value: chosen, label }]
}

/** Filters and sort order. All of them are in the URL. */
export function Filters({ search, go }: { search: InboxSearch; go: Go }) {
  const [more, setMore] = useState(false)
  const people = useAssignees()
  const set = (name: keyof InboxSearch) => (e: { target: { value: string } }) =>
    go({ [name]: e.target.value || undefined }, true)
  const common = { hideLabel: true, className: 'w-full min-[28rem]:w-44' }
  const named = <T extends string>(list: readonly T[], names: Record<T, string>): Choice[] =>
    list.map(v => ({ value: v, label: names[v] }))
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-2 border-line border-b px-3 py-1.5">
      <Select
        {...common}
        choices={choices(
          [{ value: '', label: w.waiting }, ...named(states, words.state), { value: every, label: w.all }],
          search.state,
          words.state,
        )}
        className="w-52"
        label={f.state ?? ''}
        onChange={set('state')}
        value={search.state ?? ''}
      />
      <Button aria-expanded={more} className="md:hidden" icon="filter" onClick={() => setMore(!more)}>
        {w.more}
      </Button>
      <div className={`${more ? 'flex' : 'hidden'} w-full flex-wrap items-center gap-2 md:flex md:w-auto`}>
        <Select
          {...common}
          choices={choices([{ value: '', label: w.anyKind }, ...named(kinds, words.kind)], search.kind, words.kind)}
          label={f.kind ?? ''}
          onChange={set('kind')}
          value={search.kind ?? ''}
        />
        <Select
          {...common}
          choices={choices(
            [
              { value: '', label: w.anySeverity },
              { value: pressing, label: w.pressing },
              ...named(severities, words.severity),
            ],
            search.severity,
            words.severity,
          )}
          label={f.severity ?? ''}
          onChange={set('severity')}
          value={search.severity ?? ''}
        />
        <Select
          {...common}
          choices={choices(
            [
              { value: '', label: w.anyone },
              { value: 'me', label: w.me },
              { value: 'none', label: w.nobody },
              ...people.filter(p => !p.mine).map(p => ({ value: p.id, label: p.name })),
            ],
            search.assignee,
            {},
          )}
          label={f.assignee ?? ''}
          onChange={set('assignee')}
          value={search.assignee ?? ''}
        />
        <Select
          {...common}
          choices={named(orders, words.orders)}
          label={f.order ?? ''}
          onChange={e => go({ order: orders.find(o => o === e.target.value && o !== 'rank') }, true)}
          value={search.order ?? 'rank'}
        />
        {isFiltered(filtersOf(search)) && (
          <Button look="quiet" onClick={() => go(cleared)}>
            {w.clear}
          </Button>
        )}
      </div>
    </div>
  )
}
