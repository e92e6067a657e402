import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import { moment, moments } from '../app/format'
import { settings } from '../texts/settings'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Clock } from '../ui/Clock'
import { State } from '../ui/State'
import { Answer } from '../ui/Views'
import { Confirm, ForLeads, Note, Part } from './Bits'
import { retentionQuery } from './queries'

const words = settings.retention
type Policy = Schemas['RetentionStatus']

const nameOf = (p: Policy): string => words.names[p.name] ?? p.name.replaceAll('_', ' ')

/** The retention policies, with what is due and the last runs. */
export function RetentionPart() {
  return (
    <Part id="retention">
      <ForLeads>
        <List />
      </ForLeads>
    </Part>
  )
}

function List() {
  const [asking, setAsking] = useState(false)
  const asked = useQuery(retentionQuery)
  return (
    <Answer of={asked} what={words.what}>
      {all => (
        <>
          <div className="mb-3 flex flex-wrap items-center gap-3">
            <Button disabled={all.running !== null} onClick={() => setAsking(true)}>
              {words.run}
            </Button>
            <span className="text-soft">{words.zone(all.timezone)}</span>
          </div>
          {all.running && (
            <div className="mb-3" role="status">
              <Note tone="info">
                {words.running}, {words.asked} <Age at={all.running.asked_at} /> {settings.agents.ago}
              </Note>
            </div>
          )}
          <ul aria-label={settings.parts.retention.name} className="hairline divide-y divide-line rounded-md">
            {all.policies.map(p => (
              <Row key={p.name} of={p} zone={all.timezone} />
            ))}
          </ul>
          <Run of={all.policies} onClose={() => setAsking(false)} open={asking} />
        </>
      )}
    </Answer>
  )
}

function Row({ of: p, zone }: { of: Policy; zone: string }) {
  const cell = 'min-w-0 basis-44 text-xs'
  return (
    <li className="flex flex-wrap gap-x-4 gap-y-1 px-3 py-2" data-policy={p.name}>
      <div className="min-w-0 grow basis-64">
        <p className="font-medium">{nameOf(p)}</p>
        <p className="text-soft">{p.description}</p>
        <p className="text-soft text-xs">
          {words.setting} <code className="wrap-anywhere font-mono text-xs">{p.setting}</code>
        </p>
      </div>
      <div className={cell}>
        {p.state === 'on' ? (
          <p>{words.days(p.days)}</p>
        ) : (
          <State icon="off" tone="idle">
            {words.states[p.state]}
          </State>
        )}
        {p.note && <p className="text-soft">{p.note}</p>}
        {p.next_run_at && (
          <p className="text-soft" title={moments(p.next_run_at, zone)}>
            {words.next} <Age at={p.next_run_at} />
          </p>
        )}
      </div>
      <div className={cell}>
        {p.preview && (
          <p>
            {words.would}: {p.preview.count > 0 ? words.items(p.preview.count) : words.nothing}
            {p.preview.oldest_at && (
              <span className="block text-soft">
                {words.oldest} <Clock at={p.preview.oldest_at}>{moment(p.preview.oldest_at)}</Clock>
              </span>
            )}
          </p>
        )}
        <p className="text-soft">
          {words.last}: {p.last_run ? <Last of={p.last_run} /> : words.noRun}
        </p>
      </div>
    </li>
  )
}

function Last({ of }: { of: NonNullable<Policy['last_run']> }) {
  return (
    <>
      {words.went(of.count)}, <Age at={of.finished_at ?? of.started_at} /> {settings.agents.ago}
      {of.error && (
        <span className="wrap-anywhere block text-danger">
          {words.failed}: {of.error}
        </span>
      )}
    </>
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
      busy={run.isPending}
      error={run.error}
      onClose={() => {
        run.reset()
        onClose()
      }}
      onYes={() => run.mutate()}
      open={open}
      title={words.runTitle}
      yes={words.run}
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
