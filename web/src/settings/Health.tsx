import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useCallback, useEffect, useRef } from 'react'
import { asProblem } from '../api/problem'
import { useTickingHere } from '../app/clock'
import { useConfig } from '../app/config'
import { span } from '../app/format'
import { heardAt, useLineState } from '../app/live'
import { leads, queries, useMe } from '../app/queries'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { State, type Tone } from '../ui/State'
import { Ago, Group, Part } from './Bits'
import { healthQuery, readyQuery, warningsQuery } from './queries'

const words = settings.health

interface Finding {
  id: string
  name: string
  state: 'ok' | 'amiss' | 'unknown'
  text: ReactNode
}

const tones: Record<Finding['state'], Tone> = { ok: 'active', amiss: 'danger', unknown: 'idle' }

/** Clock difference that is tolerated, in ms. */
const clockSlack = 5000

/** The Health page of Settings. */
export function HealthPart() {
  const cache = useQueryClient()
  const findings = useFindings()
  const health = useQuery(healthQuery)
  const config = useConfig().data
  const line = useLineState()
  const before = useRef(line)
  const ask = useCallback(() => {
    for (const of of [healthQuery, readyQuery, warningsQuery]) void cache.refetchQueries({ queryKey: of.queryKey })
  }, [cache])
  useEffect(() => {
    // A lost or restored connection may mean that the server changed.
    if (before.current !== line) ask()
    before.current = line
  }, [line, ask])
  const amiss = findings.filter(f => f.state === 'amiss')
  return (
    <Part
      actions={
        <Button busy={health.isFetching} icon="reload" onClick={ask}>
          {words.again}
        </Button>
      }
      forAll
      id="health"
    >
      <Group title={amiss.length > 0 ? words.amiss : words.title}>
        <p role="status">
          {amiss.length > 0 ? (
            <State tone="danger">{amiss.map(f => f.name).join(', ')}</State>
          ) : (
            findings.every(f => f.state === 'ok') && <State tone="active">{words.well}</State>
          )}
        </p>
        <ul className="divide-y divide-line">
          {findings.map(f => (
            <li className="flex items-start gap-x-3 py-1.5" data-health={f.id} key={f.id}>
              <span className="min-w-0 grow">
                <span className="font-medium">{f.name}</span>
                <span className="wrap-anywhere block text-soft">{f.text}</span>
              </span>
              <State icon={f.state === 'ok' ? 'check' : f.state === 'amiss' ? 'error' : 'clock'} tone={tones[f.state]}>
                {words.words[f.state]}
              </State>
            </li>
          ))}
        </ul>
        {health.data && (
          <p className="text-soft text-xs">
            {words.asked} <Ago at={new Date(health.dataUpdatedAt).toISOString()} />
            {config && ` · ${words.version} ${config.version} · ${words.zone} ${config.timezone}`}
          </p>
        )}
      </Group>
    </Part>
  )
}

/** Returns the result of each check. Unanswered checks are unknown. */
function useFindings(): Finding[] {
  const health = useQuery(healthQuery)
  const ready = useQuery(readyQuery)
  const line = useLineState()
  const gateway = useQuery(queries.gateway).data
  const warnings = useQuery({ ...warningsQuery, enabled: leads(useMe().data) }).data?.warnings
  const quiet = useTickingHere(now => {
    const at = heardAt()
    return at === null ? '' : span(now - at)
  })
  const off = health.data ? Date.parse(health.data.timestamp) - health.data.readAt : null
  const notReady = ready.error ? asProblem(ready.error) : null
  // A server that doesn't respond says nothing about its database.
  const asked = notReady !== null && notReady.status !== 0
  const stopping = asked && shownIn(notReady.facts.not_ready, 'stopping')
  return [
    {
      id: 'process',
      name: words.process,
      state: health.error ? 'amiss' : health.data ? 'ok' : 'unknown',
      text: health.error ? words.processAway : health.data ? words.processOk : settings.unknown,
    },
    {
      id: 'database',
      name: words.database,
      state: asked ? 'amiss' : ready.data && !ready.error ? 'ok' : 'unknown',
      text: stopping
        ? words.stopping
        : asked
          ? words.databaseAway
          : ready.data && !ready.error
            ? words.databaseOk
            : settings.unknown,
    },
    {
      id: 'stream',
      name: words.stream,
      state: line === 'live' ? 'ok' : 'amiss',
      text: (
        <>
          {words.streamStates[line]}
          {line !== 'live' && quiet && (
            <span aria-hidden="true">{` ${words.heard} ${quiet} ${settings.agents.ago}`}</span>
          )}
        </>
      ),
    },
    {
      id: 'gateway',
      name: words.gateway,
      state: !gateway
        ? 'unknown'
        : gateway.state === 'connected' || gateway.state === 'not_configured'
          ? 'ok'
          : 'amiss',
      text: !gateway ? (
        settings.unknown
      ) : gateway.state === 'not_configured' ? (
        words.gatewayOff
      ) : (
        <Link className="hover:underline" to="/settings/gateway">
          <bdi>{gateway.error || settings.gateway.states[gateway.state]}</bdi>
        </Link>
      ),
    },
    ...(warnings ?? []).map(
      (w): Finding => ({ id: `proxy ${w.address}`, name: `${words.proxy} ${w.address}`, state: 'amiss', text: w.text }),
    ),
    {
      id: 'clocks',
      name: words.clocks,
      state: off === null ? 'unknown' : Math.abs(off) > clockSlack ? 'amiss' : 'ok',
      text:
        off === null
          ? settings.unknown
          : Math.abs(off) > clockSlack
            ? words.clocksOff(span(Math.abs(off)))
            : words.clocksOk,
    },
  ]
}

const shownIn = (list: unknown, word: string): boolean => (Array.isArray(list) ? list.includes(word) : list === word)
