import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useMe, usePeople } from '../app/queries'
import { texts } from '../texts'
import { Button, IconButton } from '../ui/Button'
import { type Choice, inputClass, Select } from '../ui/Field'
import { useDebouncedInput } from '../ui/useDebouncedInput'
import { projectsQuery } from './queries'
import { SavedViews } from './SavedViews'
import type { Go, TaskSearch } from './search'
import { priorityChoices, statusChoices, typeChoices } from './taskChoices'
import { cleared, filtersOf, isFiltered } from './taskFilters'

const words = texts.tasks

interface Props {
  search: TaskSearch
  view: 'board' | 'table'
  go: Go
  onView: (view: 'board' | 'table') => void
}

/** Filters, layout, and the New task button. All of them are in the URL. */
export function Toolbar({ search, view, go, onView }: Props) {
  const [more, setMore] = useState(false)
  const filtered = isFiltered(filtersOf(search))
  return (
    <div className="@container shrink-0 border-line border-b">
      <div className="flex min-h-11 flex-wrap items-center gap-2 px-3 py-1.5">
        <TextFilter onChange={q => go({ q }, true)} value={search.q ?? ''} />
        <Button
          aria-expanded={more}
          className={`@min-[80rem]:hidden ${filtered ? 'text-accent!' : ''}`}
          icon="filter"
          onClick={() => setMore(!more)}
        >
          {words.filters.more}
        </Button>
        <div
          className={`${more ? 'flex' : 'hidden'} order-last w-full flex-wrap items-center gap-2 @min-[80rem]:order-none @min-[80rem]:flex @min-[80rem]:w-auto`}
        >
          <Filters go={go} search={search} view={view} />
          {filtered && (
            <Button look="quiet" onClick={() => go(cleared)}>
              {words.filters.clear}
            </Button>
          )}
        </div>
        <SavedViews go={go} search={search} view={view} />
        <fieldset className="ml-auto flex rounded-md border border-line">
          <legend className="sr-only">{words.view.label}</legend>
          {(['board', 'table'] as const).map(v => (
            <IconButton
              key={v}
              aria-pressed={view === v}
              className={view === v ? 'bg-accent-tint text-accent!' : ''}
              icon={v}
              label={words.view[v]}
              onClick={() => onView(v)}
            />
          ))}
        </fieldset>
        <Button icon="plus" look="primary" onClick={() => go({ new: '1' })}>
          <span className="sr-only @min-[40rem]:not-sr-only">{words.create}</span>
        </Button>
      </div>
    </div>
  )
}

function TextFilter({ value, onChange }: { value: string; onChange: (q: string | undefined) => void }) {
  const [typed, type] = useDebouncedInput(value, onChange)
  return (
    <input
      aria-label={words.filters.text}
      className={`${inputClass} h-8 w-24! grow sm:w-40! sm:grow-0 pointer-coarse:h-10`}
      onChange={e => type(e.target.value)}
      placeholder={words.filters.textShort}
      type="search"
      value={typed}
    />
  )
}

function Filters({ search, go, view }: Omit<Props, 'onView'>) {
  const me = useMe().data
  const people = usePeople()
  const projects = useQuery(projectsQuery).data
  const team = [...people.values()]
    .filter(p => p.active && p.id !== me?.id)
    .sort((a, b) => a.name.localeCompare(b.name))
  const set = (name: keyof TaskSearch) => (e: { target: { value: string } }) =>
    go({ [name]: e.target.value || undefined })
  const any = (label: string): Choice => ({ value: '', label })
  const w = words.filters
  const f = words.fields
  const common = { hideLabel: true, className: 'w-full min-[28rem]:w-32' }
  return (
    <>
      <Select
        {...common}
        choices={[
          any(w.anyone),
          { value: 'me', label: words.filters.me },
          { value: 'none', label: words.filters.noOne },
          ...team.map(p => ({ value: p.agent ?? p.id, label: p.name })),
        ]}
        label={f.assignee}
        onChange={set('assignee')}
        value={search.assignee ?? ''}
      />
      <Select
        {...common}
        choices={[any(w.anyPriority), ...priorityChoices]}
        label={f.priority}
        onChange={set('priority')}
        value={search.priority ?? ''}
      />
      <Select
        {...common}
        choices={[any(w.anyType), ...typeChoices]}
        label={f.type}
        onChange={set('type')}
        value={search.type ?? ''}
      />
      {view === 'table' && (
        <Select
          {...common}
          choices={[any(w.anyStatus), ...statusChoices]}
          label={f.status}
          onChange={set('status')}
          value={search.status ?? ''}
        />
      )}
      {projects && projects.length > 0 && (
        <Select
          {...common}
          choices={[any(w.anyProject), ...projects.map(p => ({ value: p.key, label: p.name }))]}
          label={f.project}
          onChange={set('project')}
          value={search.project ?? ''}
        />
      )}
      <label className="flex h-8 items-center gap-1.5 text-soft">
        <input
          checked={search.blocked === 'true'}
          className="accent-accent"
          onChange={e => go({ blocked: e.target.checked ? 'true' : undefined })}
          type="checkbox"
        />
        {words.filters.blockedOnly}
      </label>
    </>
  )
}
