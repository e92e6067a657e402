import { useQuery } from '@tanstack/react-query'
import type { Schemas } from '../api/client'
import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { moments } from '../app/format'
import { leads, queries, useMe } from '../app/queries'
import { NeverAsks } from '../approvals/NeverAsks'
import { settings } from '../texts/settings'
import { Age } from '../ui/Age'
import { State, type Tone } from '../ui/State'
import { Answer, NotAllowed } from '../ui/Views'
import { Command, Facts, Group, Note, Part } from './Bits'
import { Doctor } from './Doctor'
import { GatewaySettings } from './GatewaySettings'
import { Holds } from './Holds'
import { Pairing } from './Pairing'

const words = settings.gateway
type Status = Schemas['GatewayStatus']

/** The Gateway page of Settings: status, doctor, and pairing. */
export function GatewayPart() {
  const status = useQuery(queries.gateway)
  const me = useMe().data
  const may = leads(me)
  return (
    <Part id="gateway">
      <Answer of={status} what={words.what}>
        {is => (
          <>
            {may && is.state !== 'not_configured' && <Doctor folds state={is} />}
            <div className="grid grid-cols-1 items-start gap-x-4 lg:grid-cols-2">
              <div>
                <Connection address={!may} of={is} />
                {may && is.state !== 'not_configured' && <Holds />}
              </div>
              {may && (
                <div className={is.state === 'not_configured' ? '-order-1' : ''}>
                  <GatewaySettings />
                  {is.state !== 'not_configured' && <Pairing />}
                </div>
              )}
            </div>
            {is.connected_at !== null && <NeverAsks />}
            {me && !may && <NotAllowed detail={words.readOnly} />}
          </>
        )}
      </Answer>
    </Part>
  )
}

/** The tones of the connection's states; the others are failures. */
export const tones: Record<string, Tone> = {
  connected: 'active',
  connecting: 'idle',
  not_configured: 'idle',
  slow: 'attention',
  missing_scopes: 'attention',
  unpaired: 'attention',
}

/** The gateway's status with its age and error. */
export function Connection({ of: is, address = true }: { of: Status; address?: boolean }) {
  const zone = useZone()
  const facts: [string, React.ReactNode][] = [
    ...(address ? [[words.url, <Address key="url" of={is.url} />] as [string, React.ReactNode]] : []),
    [
      words.version,
      is.version ? <bdi key="version">{`${is.version} · ${words.protocol(is.protocol)}`}</bdi> : settings.unknown,
    ],
    [
      words.seen,
      is.last_seen_at ? <Seen at={is.last_seen_at} live={is.connected_at !== null} key="seen" /> : words.seenNever,
    ],
    [words.latency, is.latency_ms === null ? settings.unknown : `${is.latency_ms.toFixed(1)} ms`],
    [words.credential, words.credentials[is.auth] ?? is.auth],
    ...(is.connections.length < 2 && is.scopes_granted.length > 0
      ? [[words.scopes, is.scopes_granted.join(', ')] as [string, string]]
      : []),
    ...(is.retry_at ? [[words.retry, <Retry at={is.retry_at} key="retry" />] as [string, React.ReactNode]] : []),
  ]
  return (
    <Group title={words.connection}>
      <p className="flex flex-wrap items-center gap-x-1.5" title={moments(is.since, zone)}>
        <State tone={tones[is.state] ?? 'danger'}>{words.states[is.state] ?? is.state}</State>{' '}
        {is.state !== 'not_configured' && (
          <span className="text-soft">
            {words.since} <Age at={is.since} />
          </span>
        )}
      </p>
      {is.state === 'not_configured' ? (
        <p className="text-soft">{words.goesOn}</p>
      ) : (
        <>
          {is.error && (
            <Note tone="attention">
              <bdi>{is.error}</bdi>
              {is.connected_at === null && <span className="block">{words.goesOn}</span>}
            </Note>
          )}
          <Facts of={facts} />
          <Connections of={is.connections} />
        </>
      )}
      {is.pairing && <Command text={is.pairing.command} />}
      {is.certificate && <Certificate of={is.certificate} />}
      {is.unavailable.length > 0 && (
        <div>
          <h4 className="mb-1 font-medium">{words.unavailable}</h4>
          <ul className="flex list-disc flex-col gap-1 pl-5">
            {is.unavailable.map(u => (
              <li key={u.method}>
                <bdi>{u.feature}</bdi> <span className="wrap-anywhere font-mono text-soft text-xs">{u.method}</span>
                <span className="block text-soft text-xs">
                  <bdi>{u.why}</bdi>
                </span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </Group>
  )
}

/** The two connections with their purposes and scopes. A single one needs no list. */
function Connections({ of }: { of: Status['connections'] }) {
  if (of.length < 2) return null
  return (
    <details open={of.some(one => one.state !== 'connected')}>
      <summary className="w-fit cursor-pointer font-medium">{words.two(of.length)}</summary>
      <p className="text-soft">{words.twoWhy}</p>
      <ul className="mt-1 divide-y divide-line">
        {of.map(one => (
          <li className="flex flex-col gap-0.5 py-1.5" data-connection={one.purpose} key={one.purpose}>
            <p className="flex flex-wrap items-center gap-x-1.5">
              <span className="font-medium">{words.purposes[one.purpose]}</span>
              <State tone={tones[one.state] ?? 'danger'}>{words.states[one.state] ?? one.state}</State>
            </p>
            <p className="wrap-anywhere text-soft text-xs">
              {one.connected_at ? words.scopes : words.asks}:{' '}
              <span className="font-mono">{(one.connected_at ? one.scopes_granted : one.scopes_asked).join(', ')}</span>
            </p>
            {one.error && (
              <p className="wrap-anywhere text-xs">
                <bdi>{one.error}</bdi>
              </p>
            )}
          </li>
        ))}
      </ul>
    </details>
  )
}

const Address = ({ of }: { of: string }) =>
  of ? <bdi className="wrap-anywhere font-mono text-xs">{of}</bdi> : settings.unknown

/** While connected, the last message is always recent. */
function Seen({ at, live }: { at: string; live: boolean }) {
  if (live) return <span>{words.seenNow}</span>
  return (
    <>
      <Age at={at} /> {settings.agents.ago}
    </>
  )
}

/** When the next retry is. Later retries are not reported. */
function Retry({ at }: { at: string }) {
  const ahead = useTicking(now => Date.parse(at) > now)
  return ahead ? <Age at={at} /> : words.retrying
}

function Certificate({ of }: { of: NonNullable<Status['certificate']> }) {
  return (
    <div className="flex flex-col gap-1">
      <h4 className="font-medium">{words.certificate}</h4>
      <p>
        <bdi>{of.subject}</bdi>
      </p>
      <p>{words.compare}</p>
      <Command text={of.fingerprint} />
    </div>
  )
}
