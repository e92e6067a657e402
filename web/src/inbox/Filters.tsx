import { useId, useState } from 'react'
import { inbox as inboxWords } from '../texts/inbox'
import { Button } from '../ui/Button'
import { type Choice, Select } from '../ui/Field'
import { kinds, orders, severities, states } from './item'
import { filterCount, filtersOf } from './itemFilters'
import { kindLabels } from './kinds'
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
  item: undefined,
} satisfies InboxSearch

const every = states.join()
const pressing = 'urgent,high'

/** Returns the options, plus the current value if it is not among them. */
function choices(
  list: readonly Choice[],
  chosen: string | undefined,
  names: Readonly<Record<string, string>>,
): Choice[] {
  if (!chosen || list.some(c => c.value === chosen)) return [...list]
  const label = chosen
    .split(',')
    .map(v => names[v] ?? v)
    .join(', ')
  return [...list, { value: chosen, label }]
}

const named = (list: readonly string[], names: Readonly<Record<string, string>>): Choice[] =>
  list.map(v => ({ value: v, label: names[v] ?? v }))

/** The filters and the sort order, behind one button. All of them are in the URL. */
export function Filters({ search, go }: { search: InboxSearch; go: Go }) {
  const [open, setOpen] = useState(false)
  const id = useId()
  const count = filterCount(filtersOf(search))
  return (
    <div className="flex shrink-0 flex-col border-line border-b px-3 py-1.5">
      <div className="flex items-center gap-2">
        <Button
          aria-controls={id}
          aria-expanded={open}
          className={count > 0 ? 'text-accent!' : ''}
          icon="filter"
          onClick={() => setOpen(!open)}
          title={count > 0 ? w.set(count) : undefined}
        >
          {w.more}
          {count > 0 && (
            <>
              <span aria-hidden="true">{count}</span>
              <span className="sr-only">{w.set(count)}</span>
            </>
          )}
        </Button>
        {count > 0 && (
          <Button look="quiet" onClick={() => go(cleared)}>
            {w.clear}
          </Button>
        )}
      </div>
      <div className={`${open ? 'grid' : 'hidden'} grid-cols-2 gap-2 pt-2 pb-1`} id={id}>
        {open && <Fields go={go} search={search} />}
      </div>
    </div>
  )
}

function Fields({ search, go }: { search: InboxSearch; go: Go }) {
  const people = useAssignees()
  const set = (name: keyof InboxSearch) => (e: { target: { value: string } }) =>
    go({ item: undefined, [name]: e.target.value || undefined }, true)
  return (
    <>
      <Select
        choices={choices(
          [{ value: '', label: w.waiting }, ...named(states, words.state), { value: every, label: w.all }],
          search.state,
          words.state,
        )}
        label={f.state ?? ''}
        onChange={set('state')}
        value={search.state ?? ''}
      />
      <Select
        choices={choices([{ value: '', label: w.anyKind }, ...named(kinds, kindLabels)], search.kind, kindLabels)}
        label={f.kind ?? ''}
        onChange={set('kind')}
        value={search.kind ?? ''}
      />
      <Select
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
        choices={named(orders, words.orders)}
        label={f.order ?? ''}
        onChange={e => go({ item: undefined, order: orders.find(o => o === e.target.value && o !== 'rank') }, true)}
        value={search.order ?? 'rank'}
      />
    </>
  )
}
