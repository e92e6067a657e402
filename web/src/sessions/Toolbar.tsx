import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { queries } from '../app/queries'
import { sessions as sessionsWords } from '../texts/sessions'
import { Button } from '../ui/Button'
import { DayField } from '../ui/DayField'
import { type Choice, inputClass, Select } from '../ui/Field'
import { Segments } from '../ui/Segments'
import { useDebouncedInput } from '../ui/useDebouncedInput'
import type { Go, SessionsSearch } from './search'

const words = sessionsWords
const w = words.filters

/** Clears all filters. */
export const cleared: SessionsSearch = {
  q: undefined,
  agent: undefined,
  kind: undefined,
  state: undefined,
  status: undefined,
  from: undefined,
  to: undefined,
}

const filters = ['agent', 'kind', 'state', 'status', 'from', 'to'] as const

export const isFiltered = (s: SessionsSearch): boolean => s.q !== undefined || filters.some(f => s[f] !== undefined)

interface Props {
  search: SessionsSearch
  view: 'live' | 'history'
  go: Go
}

/** The view, the text filter, and the other filters behind one button. All of them are in the URL. */
export function Toolbar({ search, view, go }: Props) {
  const [open, setOpen] = useState(false)
  const id = useId()
  const count = filters.filter(f => search[f] !== undefined).length
  const { q, agent, kind } = search
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-2 border-line border-b px-3 py-1.5">
      <Segments
        choices={(['live', 'history'] as const).map(value => ({ value, label: words.view.short[value] }))}
        label={words.view.label}
        onChange={v => go({ ...cleared, show: v === 'history' ? v : undefined, q, agent, kind })}
        value={view}
      />
      <TextFilter label={view === 'live' ? w.text : w.words} onChange={next => go({ q: next }, true)} value={q ?? ''} />
      <Button
        aria-controls={id}
        aria-expanded={open}
        className={count > 0 ? 'text-accent!' : ''}
        icon="filter"
        onClick={() => setOpen(!open)}
      >
        <span className="sr-only min-[24rem]:not-sr-only">{w.more}</span>
        {count > 0 && <span className="tabular-nums">{count}</span>}
      </Button>
      <span className="mr-auto text-soft text-xs max-lg:hidden">{words.view.holds[view]}</span>
      {isFiltered(search) && (
        <Button className="max-sm:hidden" look="quiet" onClick={() => go(cleared)}>
          {w.clear}
        </Button>
      )}
      <div className={`${open ? 'grid' : 'hidden'} w-full grid-cols-2 gap-2 pb-1 md:grid-cols-5`} id={id}>
        {open && <Filters go={go} search={search} view={view} />}
        {open && isFiltered(search) && (
          <Button className="sm:hidden" onClick={() => go(cleared)}>
            {w.clear}
          </Button>
        )}
      </div>
    </div>
  )
}

/** A text filter that updates the URL when typing pauses. */
function TextFilter({
  value,
  label,
  onChange,
}: {
  value: string
  label: string
  onChange: (q: string | undefined) => void
}) {
  const [typed, type] = useDebouncedInput(value, onChange)
  return (
    <input
      aria-label={label}
      className={`${inputClass} h-8 w-24! grow sm:w-72! sm:grow-0 pointer-coarse:h-10`}
      maxLength={200}
      onChange={e => type(e.target.value)}
      placeholder={w.short}
      type="search"
      value={typed}
    />
  )
}

const kinds = Object.entries(words.kind).map(([value, label]) => ({ value, label }))
const ends = ['failed', 'timeout', 'killed'] as const
const states = { live: ['active', 'stalled', ...ends], history: ['done', ...ends] } as const

function Filters({ search, view, go }: Props) {
  const agents = useQuery(queries.agents).data ?? []
  const set = (name: keyof SessionsSearch) => (e: { target: { value: string } }) =>
    go({ [name]: e.target.value || undefined })
  // Adds the current value, so that an unknown one from the URL is listed.
  const choices = (any: string, list: readonly Choice[], own: string | undefined): Choice[] => [
    { value: '', label: any },
    ...list,
    ...(own && !list.some(c => c.value === own) ? [{ value: own, label: own }] : []),
  ]
  const state = view === 'live' ? 'state' : 'status'
  const stateName = (value: string) => ({ value, label: w.done[value] ?? words.standing[value as 'failed'] })
  const agentChoices = agents.map(a => ({ value: a.agent_id, label: a.name }))
  return (
    <>
      <Select
        choices={choices(w.anyAgent, agentChoices, search.agent)}
        label={words.fields.agent}
        onChange={set('agent')}
        value={search.agent ?? ''}
      />
      <Select
        choices={choices(w.anyKind, kinds, search.kind)}
        label={words.startedBy.label}
        onChange={set('kind')}
        value={search.kind ?? ''}
      />
      <Select
        choices={choices(w.anyState, states[view].map(stateName), search[state])}
        label={words.fields.state}
        onChange={set(state)}
        value={search[state] ?? ''}
      />
      {view === 'history' &&
        (['from', 'to'] as const).map(name => (
          <DayField key={name} label={w[name]} onPick={day => go({ [name]: day }, true)} value={search[name] ?? ''} />
        ))}
    </>
  )
}
