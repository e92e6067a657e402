import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { queries } from '../app/queries'
import { sessions as sessionsWords } from '../texts/sessions'
import { Button, IconButton } from '../ui/Button'
import { DayField } from '../ui/DayField'
import { type Choice, inputClass, Select } from '../ui/Field'
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

export const isFiltered = (s: SessionsSearch): boolean =>
  Object.keys(cleared).some(name => s[name as keyof SessionsSearch] !== undefined)

interface Props {
  search: SessionsSearch
  view: 'live' | 'history'
  go: Go
}

/** Live or history, and filters. All of them are in the URL. */
export function Toolbar({ search, view, go }: Props) {
  const [more, setMore] = useState(false)
  const cache = useQueryClient()
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-2 border-line border-b px-3 py-1.5">
      <fieldset className="flex rounded-md border border-line">
        <legend className="sr-only">{words.view.label}</legend>
        {(['live', 'history'] as const).map(v => (
          <Button
            key={v}
            aria-pressed={view === v}
            className={view === v ? 'bg-accent-tint text-accent!' : ''}
            look="quiet"
            onClick={() =>
              go({
                ...cleared,
                show: v === 'history' ? v : undefined,
                q: search.q,
                agent: search.agent,
                kind: search.kind,
              })
            }
          >
            {words.view[v]}
          </Button>
        ))}
      </fieldset>
      <TextFilter label={view === 'live' ? w.text : w.words} onChange={q => go({ q }, true)} value={search.q ?? ''} />
      <Button aria-expanded={more} className="md:hidden" icon="filter" onClick={() => setMore(!more)}>
        <span className="sr-only min-[24rem]:not-sr-only">{w.more}</span>
      </Button>
      {view === 'history' && (
        <IconButton
          icon="reload"
          label={w.reload}
          onClick={() => void cache.invalidateQueries({ queryKey: ['sessions', 'archive'] })}
        />
      )}
      <div className={`${more ? 'flex' : 'hidden'} w-full flex-wrap items-center gap-2 md:flex md:w-auto`}>
        <Filters go={go} search={search} view={view} />
        {isFiltered(search) && (
          <Button look="quiet" onClick={() => go(cleared)}>
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
      className={`${inputClass} h-8 w-24! grow sm:w-52! sm:grow-0 pointer-coarse:h-10`}
      maxLength={200}
      onChange={e => type(e.target.value)}
      placeholder={label}
      type="search"
      value={typed}
    />
  )
}

const kinds = Object.keys(words.kind)

function Filters({ search, view, go }: Props) {
  const agents = useQuery(queries.agents).data ?? []
  const set = (name: keyof SessionsSearch) => (e: { target: { value: string } }) =>
    go({ [name]: e.target.value || undefined })
  const any = (label: string): Choice => ({ value: '', label })
  // Adds the current value, so that an unknown one from the URL is listed.
  const withOwn = (choices: Choice[], own: string | undefined): Choice[] =>
    own && !choices.some(c => c.value === own) ? [...choices, { value: own, label: own }] : choices
  const common = { hideLabel: true, className: 'w-full min-[28rem]:w-36' }
  const agentChoices = agents.map(a => ({ value: a.agent_id, label: a.name }))
  const kindChoices = kinds.map(k => ({ value: k, label: words.kind[k] ?? k }))
  return (
    <>
      <Select
        {...common}
        choices={[any(w.anyAgent), ...withOwn(agentChoices, search.agent)]}
        label={words.fields.agent}
        onChange={set('agent')}
        value={search.agent ?? ''}
      />
      <Select
        {...common}
        choices={[any(w.anyKind), ...withOwn(kindChoices, search.kind)]}
        label={words.fields.kind}
        onChange={set('kind')}
        value={search.kind ?? ''}
      />
      {view === 'live' ? (
        <>
          <Select
            {...common}
            choices={[
              any(w.anyState),
              { value: 'active', label: words.standing.active },
              { value: 'stalled', label: words.standing.stalled },
              { value: 'resting', label: w.resting },
            ]}
            label={words.fields.state}
            onChange={set('state')}
            value={search.state ?? ''}
          />
          <Select
            {...common}
            choices={[any(w.noGroup), { value: 'agent', label: w.byAgent }, { value: 'kind', label: w.byKind }]}
            label={w.group}
            onChange={set('group')}
            value={search.group ?? ''}
          />
        </>
      ) : (
        <>
          <Select
            {...common}
            choices={[
              any(w.anyEnd),
              { value: 'done', label: words.standing.rests },
              { value: 'failed', label: words.standing.failed },
              { value: 'timeout', label: words.standing.timeout },
              { value: 'killed', label: words.standing.killed },
            ]}
            label={words.fields.state}
            onChange={set('status')}
            value={search.status ?? ''}
          />
          <Days go={go} search={search} />
        </>
      )}
    </>
  )
}

function Days({ search, go }: Pick<Props, 'search' | 'go'>) {
  return (['from', 'to'] as const).map(name => (
    <div key={name} className="flex items-center gap-1.5 text-soft text-xs">
      <span aria-hidden="true">{w[name]}</span>
      <DayField
        className="w-36"
        hideLabel
        label={w[name]}
        onPick={day => go({ [name]: day }, true)}
        value={search[name] ?? ''}
      />
    </div>
  ))
}
