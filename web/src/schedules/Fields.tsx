import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { Problem } from '../api/problem'
import { queries } from '../app/queries'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Field, Select, TextArea } from '../ui/Field'
import { cronWords } from './cron'
import type { Draft } from './draft'

const words = scheduleTexts
const f = words.fields

/** The time zones that this browser supports. The server decides which are valid. */
const zones = (): string[] => Intl.supportedValuesOf('timeZone')

/** Returns the server's error until the value that it was about is changed. */
function useErrorOf(value: string, error: string | undefined): string | undefined {
  const [about, setAbout] = useState({ value, error })
  if (error !== about.error) setAbout({ value, error })
  return value === about.value ? error : undefined
}

interface TimesProps {
  expr: string
  zone: string
  /** Set if the job has a time zone, which can be changed but not removed. */
  zoned?: boolean
  /** Whether the expression gets the initial focus. */
  first?: boolean
  errors: { expr?: string | undefined; zone?: string | undefined }
  onExpr: (expr: string) => void
  onZone: (zone: string) => void
}

/** The cron expression with its meaning in words, and its time zone. */
export function TimesFields({ expr, zone, zoned = false, first = false, errors, onExpr, onZone }: TimesProps) {
  const id = useId()
  const said = cronWords(expr)
  const note = expr.trim() === '' ? words.help.expr : said ? `${words.form.reads} ${said}` : words.form.unknownWords
  return (
    <div className="grid grid-cols-1 gap-3 min-[26rem]:grid-cols-2">
      <div className="flex flex-col gap-1">
        <Field
          autoComplete="off"
          autoFocus={first}
          error={useErrorOf(expr, errors.expr)}
          label={f.expr}
          maxLength={500}
          onChange={e => onExpr(e.target.value)}
          required
          spellCheck={false}
          value={expr}
        />
        <p aria-live="polite" className="text-soft text-xs">
          {note}
        </p>
      </div>
      <div>
        <Field
          autoComplete="off"
          error={useErrorOf(zone, errors.zone)}
          help={words.help.zone}
          label={f.zone}
          list={id}
          maxLength={64}
          onChange={e => onZone(e.target.value)}
          required={zoned}
          spellCheck={false}
          value={zone}
        />
        <datalist id={id}>
          {zones().map(z => (
            <option key={z} value={z} />
          ))}
        </datalist>
      </div>
    </div>
  )
}

interface Props {
  draft: Draft
  zoned?: boolean // see TimesProps
  problem: Problem | null
  onChange: (draft: Draft) => void
}

/** The fields of a new or existing job. */
export function JobFields({ draft, zoned = false, problem, onChange }: Props) {
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
      <TimesFields
        errors={{ expr: problem?.of('schedule/expr'), zone: problem?.of('schedule/tz') }}
        expr={draft.expr}
        onExpr={expr => set({ expr })}
        onZone={tz => set({ tz })}
        zone={draft.tz}
        zoned={zoned}
      />
      <div className="grid grid-cols-1 gap-3 min-[26rem]:grid-cols-2">
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
        <Select
          choices={(['none', 'announce'] as const).map(d => ({ value: d, label: words.delivery[d] ?? d }))}
          error={problem?.of('delivery')}
          label={f.delivery}
          onChange={e => set({ delivery: e.target.value === 'announce' ? 'announce' : 'none' })}
          value={draft.delivery}
        />
      </div>
      <TextArea
        error={useErrorOf(draft.message, problem?.of('payload/message'))}
        help={words.help.message}
        label={f.message}
        maxLength={20_000}
        onChange={e => set({ message: e.target.value })}
        required
        rows={6}
        value={draft.message}
      />
      <Field
        autoComplete="off"
        error={problem?.of('description')}
        label={f.description}
        maxLength={2000}
        onChange={e => set({ description: e.target.value })}
        value={draft.description}
      />
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
