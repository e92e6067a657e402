import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { Schemas } from '../api/client'
import { span } from '../app/format'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { type Look, State } from '../ui/State'
import { Failed, Stale } from '../ui/Views'
import { Ago, Command, Group, Note } from './Bits'
import { doctorQuery } from './queries'
import { type Check, checklist, copyable } from './rules'

const words = settings.gateway

const looks: Record<Check['state'], Look> = {
  ok: { tone: 'active', icon: 'check' },
  failed: { tone: 'danger', icon: 'error' },
  not_reached: { tone: 'idle', icon: 'off' },
  skipped: { tone: 'idle', icon: 'off' },
  waiting: { tone: 'idle', icon: 'clock' },
}

function took(ms: number): string {
  if (ms >= 1000) return span(ms)
  return ms < 0.1 ? '< 0.1 ms' : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
}

interface Props {
  state: Schemas['GatewayStatus']
  /** Whether the list stays closed until a check fails or the user opens it. */
  folds?: boolean
}

/** The checklist of the gateway connection. Runs once when opened, then on request. */
export function Doctor({ state, folds = false }: Props) {
  const cache = useQueryClient()
  const asked = useQuery(doctorQuery)
  const exam = asked.data
  const busy = asked.isFetching
  const [opened, setOpened] = useState(false)
  const open = !folds || opened || Boolean(exam?.failure)
  const list = useId()
  const old = exam !== undefined && !busy && state.since > exam.at
  return (
    <Group
      actions={
        <Button busy={busy} icon="reload" onClick={() => void cache.refetchQueries({ queryKey: doctorQuery.queryKey })}>
          {exam ? words.again : words.examine}
        </Button>
      }
      id="doctor"
      title={words.doctor}
    >
      {open && <p className="text-soft">{words.doctorIntro}</p>}
      <p aria-live="polite" className={busy || old ? '' : 'sr-only'}>
        {busy ? words.examining : old ? words.changed : exam?.healthy ? words.healthy : (exam?.failure?.cause ?? '')}
      </p>
      {asked.error && !exam ? <Failed again={() => void asked.refetch()} error={asked.error} /> : null}
      {/* Hidden during a new run, so that a second failure is announced again. */}
      {asked.error && exam && !busy ? <Stale error={asked.error} since={asked.dataUpdatedAt} /> : null}
      <ol
        aria-label={words.doctor}
        className={`divide-y divide-line lg:columns-2 lg:gap-x-8 ${open ? '' : 'hidden'}`}
        id={list}
      >
        {checklist(exam).map(check => (
          <Row check={check} key={check.layer} />
        ))}
      </ol>
      {exam && <Warnings of={exam} />}
      {exam && (
        <p className="flex flex-wrap items-center gap-x-1.5 text-soft text-xs" data-healthy={exam.healthy}>
          {exam.healthy && <State tone="active">{words.healthy}</State>}
          <span>
            {words.examined} <Ago at={exam.at} />, {words.took(took(exam.took_ms))}
          </span>
          {folds && !exam.failure && (
            <Button
              aria-controls={list}
              aria-expanded={open}
              className="h-6! pointer-coarse:h-10!"
              icon={open ? 'chevron' : 'right'}
              look="quiet"
              onClick={() => setOpened(!open)}
            >
              {words.checks(exam.layers.length)}
            </Button>
          )}
        </p>
      )}
    </Group>
  )
}

function Warnings({ of }: { of: Schemas['GatewayExamination'] }) {
  if (of.warnings.length === 0) return null
  return (
    <div className="flex flex-col gap-2">
      <h4 className="font-medium">{words.warnings}</h4>
      {of.warnings.map(w => (
        <Note key={`${w.layer} ${w.cause}`} tone="attention">
          <Fault cause={w.cause} fix={w.fix} />
        </Note>
      ))}
    </div>
  )
}

/** The result of an examination without its checklist: what works, or the cause and the fix. */
export function Findings({ of }: { of: Schemas['GatewayExamination'] }) {
  const seen = of.layers.find(l => l.layer === 'methods')?.saw
  return (
    <div className="flex flex-col gap-2" data-healthy={of.healthy}>
      {of.healthy && (
        <p>
          <State tone="active">{words.access.passed}</State> <bdi className="text-soft text-xs">{seen}</bdi>
        </p>
      )}
      {of.failure && (
        <Note tone="danger">
          <Fault cause={of.failure.cause} fix={of.failure.fix} />
        </Note>
      )}
      <Warnings of={of} />
    </div>
  )
}

function Row({ check }: { check: Check }) {
  const look = looks[check.state]
  return (
    <li className="flex break-inside-avoid flex-col gap-1.5 py-1.5" data-layer={check.layer} data-state={check.state}>
      <div className="flex flex-wrap items-start gap-x-3">
        <span className="flex h-5 w-32 shrink-0 items-center">
          <State icon={look.icon} tone={look.tone}>
            {words.layerStates[check.state]}
          </State>
        </span>
        <span className="min-w-0 grow basis-52">
          <span className={check.state === 'failed' ? 'font-medium' : ''}>{words.layers[check.layer]}</span>
          {check.saw && (
            <span className="wrap-anywhere block text-soft text-xs">
              <bdi>{check.saw}</bdi>
            </span>
          )}
        </span>
        {check.tookMs !== null && <span className="hidden text-soft text-xs sm:inline">{took(check.tookMs)}</span>}
      </div>
      {check.failure && (
        <Note tone="danger">
          <Fault cause={check.failure.cause} fix={check.failure.fix} />
        </Note>
      )}
    </li>
  )
}

/** The cause and fix of a failed check, with the commands to copy. */
function Fault({ cause, fix }: { cause: string; fix: string }) {
  return (
    <div className="flex flex-col gap-1.5 text-ink">
      <p>
        <span className="font-medium">{words.cause}:</span> <bdi>{cause}</bdi>
      </p>
      {fix && (
        <p>
          <span className="font-medium">{words.fix}:</span> <bdi>{fix}</bdi>
        </p>
      )}
      {copyable(fix).map(text => (
        <Command key={text} text={text} />
      ))}
    </div>
  )
}
