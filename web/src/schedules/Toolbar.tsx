import { useAgentNames } from '../sessions/Bits'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Button } from '../ui/Button'
import { inputClass, Select } from '../ui/Field'
import { useDebouncedInput } from '../ui/useDebouncedInput'
import { isStandupJob, type Job } from './job'
import { type Go, type JobSearch, shows } from './search'

const words = scheduleTexts
const w = words.filters

interface Props {
  jobs: readonly Job[]
  search: JobSearch
  may: boolean
  go: Go
}

/** Filters, and buttons for new jobs. */
export function Toolbar({ jobs, search, may, go }: Props) {
  const agents = [...new Set(jobs.map(j => j.agentId))].filter(Boolean).sort()
  const called = useAgentNames()
  const filtered = search.q || search.agent || search.show
  const names = { enabled: w.enabled, disabled: w.disabled, failing: w.failing, missed: w.missed }
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-2 border-line border-b px-3 py-1.5">
      <NameFilter onChange={q => go({ q }, true)} value={search.q ?? ''} />
      <Select
        choices={[{ value: '', label: w.anyAgent }, ...agents.map(a => ({ value: a, label: called.get(a) || a }))]}
        className="w-32"
        hideLabel
        label={w.agent}
        onChange={e => go({ agent: e.target.value || undefined })}
        value={search.agent ?? ''}
      />
      <Select
        choices={[{ value: '', label: w.all }, ...shows.map(s => ({ value: s, label: names[s] }))]}
        className="w-32"
        hideLabel
        label={w.show}
        onChange={e => go({ show: shows.find(s => s === e.target.value) })}
        value={search.show ?? ''}
      />
      {filtered && (
        <Button look="quiet" onClick={() => go({ q: undefined, agent: undefined, show: undefined })}>
          {w.clear}
        </Button>
      )}
      {may ? (
        <span className="ml-auto flex flex-wrap gap-2">
          {!jobs.some(j => isStandupJob(j.name)) && (
            <Button icon="standups" onClick={() => go({ form: 'standup' })}>
              {words.addStandup}
            </Button>
          )}
          <Button icon="plus" look="primary" onClick={() => go({ form: 'new' })}>
            {words.create}
          </Button>
        </span>
      ) : (
        <span className="ml-auto text-soft text-xs">{words.whoMay}</span>
      )}
    </div>
  )
}

function NameFilter({ value, onChange }: { value: string; onChange: (q: string | undefined) => void }) {
  const [typed, type] = useDebouncedInput(value, onChange)
  return (
    <input
      aria-label={w.text}
      className={`${inputClass} h-8 w-40! pointer-coarse:h-10`}
      onChange={e => type(e.target.value)}
      placeholder={w.text}
      type="search"
      value={typed}
    />
  )
}
