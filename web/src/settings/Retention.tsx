import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import { useZone } from '../app/config'
import { moment, moments } from '../app/format'
import { leads, useMe } from '../app/queries'
import { settings } from '../texts/settings'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { State } from '../ui/State'
import { Answer } from '../ui/Views'
import { Confirm, ForLeads, Part } from './Bits'
import { retentionQuery, settingsQuery } from './queries'
import { RetentionDays } from './RetentionDays'

const words = settings.retention
type Policy = Schemas['RetentionStatus']

const nameOf = (p: Policy): string => words.names[p.name] ?? p.name.replaceAll('_', ' ')

/** Returns how many items the next purge removes. */
const dueOf = (of: readonly Policy[]): number => of.reduce((n, p) => n + (p.preview?.count ?? 0), 0)

/** After how many days data goes, with what is due and the last runs. */
export function RetentionPart() {
  const [asking, setAsking] = useState(false)
  const may = leads(useMe().data)
  const asked = useQuery({ ...retentionQuery, enabled: may })
  const due = dueOf(asked.data?.policies ?? [])
  return (
    <Part
      actions={
        due > 0 && (
          <Button disabled={asked.data?.running !== null} onClick={() => setAsking(true)}>
            {words.run(due)}
          </Button>
        )
      }
      id="retention"
    >
      <ForLeads>
        <Answer of={asked} what={words.what}>
          {all => (
            <>
              <Runs of={all} />
              <List of={all.policies} />
              <Run of={all.policies} onClose={() => setAsking(false)} open={asking} />
            </>
          )}
        </Answer>
      </ForLeads>
    </Part>
  )
}

/** When the next run is, or the one in progress. */
function Runs({ of }: { of: Schemas['RetentionOverview'] }) {
  const zone = useZone()
  const next = of.policies.find(p => p.next_run_at)?.next_run_at
  return (
    <p className="mb-3 text-soft" role="status">
      {of.running ? (
        <State icon="reload" tone="idle">
          {words.running}
        </State>
      ) : (
        next && (
          <span title={`${moments(next, zone)}\n${words.zone(of.timezone)}`}>
            {words.next} <Age at={next} />
          </span>
        )
      )}
      {of.policies.every(p => !p.last_run) && ` · ${words.last} ${words.noRun}`}
    </p>
  )
}

const grid = 'grid grid-cols-[1fr_auto] items-center gap-x-6 gap-y-1 px-3 py-2 md:grid-cols-[1fr_9rem_12rem]'

/** One row for each number of days; several policies can share it. */
function List({ of }: { of: readonly Policy[] }) {
  const [edited, setEdited] = useState<string | null>(null)
  const days = useQuery(settingsQuery).data?.retention
  const names = [...new Set(of.map(p => p.setting))]
  return (
    <>
      <p aria-hidden="true" className={`${grid} text-soft text-xs max-md:hidden`}>
        <span>{words.heads.data}</span>
        <span>{words.heads.days}</span>
        <span>{words.heads.due}</span>
      </p>
      <ul aria-label={settings.parts.retention.name} className="hairline divide-y divide-line rounded-md">
        {names.map(setting => (
          <Row
            days={days?.find(d => d.setting === setting)}
            key={setting}
            of={of.filter(p => p.setting === setting)}
            onEdit={() => setEdited(setting)}
          />
        ))}
      </ul>
      <RetentionDays of={of.filter(p => p.setting === edited)} onClose={() => setEdited(null)} />
    </>
  )
}

function Row({
  of,
  days,
  onEdit,
}: {
  of: readonly Policy[]
  days: Schemas['SettingsDays'] | undefined
  onEdit: () => void
}) {
  const first = of[0]
  if (!first) return null
  const name = words.settings[first.setting] ?? first.setting
  const kept = words.kept(first.days)
  const due = dueOf(of)
  const runs = of.flatMap(p => (p.last_run ? [p.last_run] : []))
  return (
    <li className={grid} data-setting={first.setting}>
      <div className="min-w-0">
        <h3 className="font-medium">{name}</h3>
        {of.map(p => (
          <p className="text-soft empty:hidden" data-policy={p.name} key={p.name}>
            {words.does[p.name] ?? p.description}
          </p>
        ))}
        {days && !days.editable && <bdi className="wrap-anywhere text-soft text-xs">{days.detail}</bdi>}
      </div>
      <div>
        {days?.editable ? (
          <Button aria-label={`${words.edit(name)}: ${kept}`} icon="pencil" onClick={onEdit}>
            {kept}
          </Button>
        ) : (
          kept
        )}
      </div>
      <div className="col-span-full text-xs md:col-span-1">
        {first.preview && (
          <p className={due > 0 ? 'font-medium' : 'text-soft'}>
            <span className="md:sr-only">{words.heads.due}: </span>
            {due > 0 ? words.items(due) : words.nothing}
          </p>
        )}
        {runs.length > 0 && <Last of={runs} />}
      </div>
    </li>
  )
}

/** The result of the last run, of all policies with the same number of days. */
function Last({ of }: { of: readonly NonNullable<Policy['last_run']>[] }) {
  const at =
    of
      .map(r => r.finished_at ?? r.started_at)
      .sort()
      .at(-1) ?? ''
  return (
    <p className="text-soft">
      {words.went(of.reduce((n, r) => n + r.count, 0))} <Age at={at} /> {settings.agents.ago}
      {of.map(
        r =>
          r.error && (
            <span className="wrap-anywhere block text-danger" key={r.policy}>
              {words.failed}: {r.error}
            </span>
          ),
      )}
    </p>
  )
}

/** Confirms a purge and lists what it deletes. */
function Run({ open, of, onClose }: { open: boolean; of: readonly Policy[]; onClose: () => void }) {
  const cache = useQueryClient()
  const run = useMutation({
    mutationFn: () => take(api.POST('/api/v1/retention/run')),
    onSuccess: onClose,
    onSettled: () => cache.invalidateQueries({ queryKey: retentionQuery.queryKey }),
  })
  const due = of.filter(p => (p.preview?.count ?? 0) > 0)
  return (
    <Confirm
      of={run}
      onClose={onClose}
      onYes={() => run.mutate()}
      open={open}
      title={words.runTitle}
      yes={words.runYes(dueOf(due))}
    >
      {due.length === 0 ? (
        <p>{words.runNothing}</p>
      ) : (
        <>
          <p>{words.runText}</p>
          <ul className="list-disc pl-5">
            {due.map(p => (
              <li key={p.name}>
                {nameOf(p)}: {words.items(p.preview?.count ?? 0)}
                {p.preview && ` ${words.before} ${moment(p.preview.before)}`}
              </li>
            ))}
          </ul>
        </>
      )}
    </Confirm>
  )
}
