import { useQuery } from '@tanstack/react-query'
import type { Problem } from '../api/problem'
import { queries } from '../app/queries'
import { priorityChoices } from '../tasks/taskChoices'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Field, Select, TextArea } from '../ui/Field'
import type { Draft } from './draft'
import { Times, useErrorOf } from './Times'

const words = scheduleTexts
const f = words.fields

interface Props {
  draft: Draft
  /** See Times. */
  zoned?: boolean
  onceToo?: boolean
  problem: Problem | null
  onChange: (draft: Draft) => void
}

/** The fields of a new or existing job. */
export function JobFields({ draft, zoned = false, onceToo = false, problem, onChange }: Props) {
  const agents = useQuery(queries.agents).data?.filter(a => a.in_runtime !== false) ?? []
  const set = (part: Partial<Draft>) => onChange({ ...draft, ...part })
  const known = agents.some(a => a.agent_id === draft.agentId)
  return (
    <>
      <Field
        autoComplete="off"
        autoFocus
        error={useErrorOf(draft.name, problem?.of('name'))}
        label={words.form.name}
        maxLength={200}
        onChange={e => set({ name: e.target.value })}
        required
        value={draft.name}
      />
      <Times
        errors={{ expr: problem?.of('schedule/expr') ?? problem?.of('schedule/at'), zone: problem?.of('schedule/tz') }}
        expr={draft.expr}
        onChange={({ zone: tz, ...times }) => set({ ...times, tz })}
        once={draft.once}
        onceToo={onceToo}
        zone={draft.tz}
        zoned={zoned}
      >
        <Select
          choices={[
            ...(known ? [] : [{ value: draft.agentId, label: draft.agentId || '–' }]),
            ...agents.map(a => ({ value: a.agent_id, label: a.name })),
          ]}
          error={problem?.of('agentId')}
          label={f.agent}
          onChange={e => set({ agentId: e.target.value })}
          required
          value={draft.agentId}
        />
      </Times>
      <TextArea
        error={useErrorOf(draft.message, problem?.of('payload/message'))}
        help={words.help.message}
        label={f.message}
        maxLength={20_000}
        onChange={e => set({ message: e.target.value })}
        required
        rows={5}
        value={draft.message}
      />
      <TaskFields draft={draft} onChange={onChange} problem={problem} />
      <div className="grid grid-cols-1 gap-3 min-[26rem]:grid-cols-2">
        <Select
          choices={(['none', 'announce'] as const).map(d => ({ value: d, label: words.delivery[d] ?? d }))}
          error={problem?.of('delivery')}
          label={f.delivery}
          onChange={e => set({ delivery: e.target.value === 'announce' ? 'announce' : 'none' })}
          value={draft.delivery}
        />
        <Field
          autoComplete="off"
          error={problem?.of('description')}
          label={f.description}
          maxLength={2000}
          onChange={e => set({ description: e.target.value })}
          value={draft.description}
        />
      </div>
    </>
  )
}

/** The task that each run makes. */
function TaskFields({ draft, problem, onChange }: Pick<Props, 'draft' | 'problem' | 'onChange'>) {
  return (
    <>
      <Field
        autoComplete="off"
        error={problem?.of('task/title')}
        help={words.help.task}
        label={f.task}
        maxLength={500}
        onChange={e => onChange({ ...draft, taskTitle: e.target.value })}
        value={draft.taskTitle}
      />
      {draft.taskTitle.trim() && (
        <>
          <TextArea
            error={problem?.of('task/description')}
            label={f.taskText}
            maxLength={20_000}
            onChange={e => onChange({ ...draft, taskText: e.target.value })}
            rows={3}
            value={draft.taskText}
          />
          <Select
            choices={priorityChoices}
            label={f.taskPriority}
            onChange={e => onChange({ ...draft, taskPriority: e.target.value as Draft['taskPriority'] })}
            value={draft.taskPriority}
          />
        </>
      )}
    </>
  )
}

/** An error that doesn't belong to a field. */
export function Refused({ problem }: { problem: Problem | null }) {
  if (!problem || problem.fields.length > 0) return null
  return (
    <p className="wrap-anywhere text-danger" role="alert">
      {problem.message}
    </p>
  )
}
