import { useAgentNames } from '../sessions/Bits'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Button } from '../ui/Button'
import { inputClass, Select } from '../ui/Field'
import { useDebouncedInput } from '../ui/useDebouncedInput'
import { Counts } from './Counts'
import { isStandupJob, type Job } from './job'
import type { Go, JobSearch } from './search'

const words = scheduleTexts
const w = words.filters

interface Props {
  jobs: readonly Job[]
  search: JobSearch
  may: boolean
  go: Go
}

/** From this many jobs on, the list has filters. */
const many = 10

/** The counts, the filters, and the buttons for new jobs. */
export function Toolbar({ jobs, search, may, go }: Props) {
  const agents = [...new Set(jobs.map(j => j.agentId))].filter(Boolean).sort()
  const called = useAgentNames()
  const filters = jobs.length >= many || search.q !== undefined || search.agent !== undefined
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-2 border-line border-b px-3 py-1.5">
      <Counts go={go} jobs={jobs} show={search.show} />
      <span className={`flex flex-wrap items-center gap-2 min-[48rem]:grow-0 ${filters ? 'grow' : ''}`}>
        {filters && <NameFilter onChange={q => go({ q }, true)} value={search.q ?? ''} />}
        {filters && (
          <Select
            choices={[{ value: '', label: w.anyAgent }, ...agents.map(a => ({ value: a, label: called.get(a) || a }))]}
            className="min-w-32 grow"
            hideLabel
            label={w.agent}
            onChange={e => go({ agent: e.target.value || undefined })}
            value={search.agent ?? ''}
          />
        )}
        {may && !jobs.some(j => isStandupJob(j.name)) && (
          <Button icon="standups" onClick={() => go({ form: 'standup' })}>
            <span className="max-sm:sr-only">{words.addStandup}</span>
          </Button>
        )}
        {may && (
          <Button icon="plus" look="primary" onClick={() => go({ form: 'new' })}>
            <span className="max-sm:sr-only">{words.create}</span>
          </Button>
        )}
      </span>
      {!may && <span className="text-soft text-xs">{words.whoMay}</span>}
    </div>
  )
}

function NameFilter({ value, onChange }: { value: string; onChange: (q: string | undefined) => void }) {
  const [typed, type] = useDebouncedInput(value, onChange)
  return (
    <input
      aria-label={w.text}
      className={`${inputClass} h-8 w-36! grow pointer-coarse:h-10`}
      onChange={e => type(e.target.value)}
      placeholder={w.text}
      type="search"
      value={typed}
    />
  )
}
