import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import { queries } from '../app/queries'
import { settings } from '../texts/settings'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { State, type Tone } from '../ui/State'
import { say, sayFailed } from '../ui/toast'
import { Answer } from '../ui/Views'
import { Command, Confirm, Facts, Group, Note } from './Bits'
import { pairingQuery } from './queries'
import { copyable } from './rules'

const words = settings.pairing
type Paired = Schemas['Pairing']
type Forgotten = Schemas['PairingForgotten']

const tones: Record<Paired['state'], Tone> = {
  none: 'idle',
  settings: 'active',
  made: 'attention',
  pending: 'attention',
  paired: 'active',
  local: 'active',
  unreadable: 'danger',
}

/** The pairing of Wardroom with the gateway: device, approval, and missing scopes. */
export function Pairing() {
  const asked = useQuery(pairingQuery)
  const connected = useQuery(queries.gateway).data?.state === 'connected'
  const [forgotten, setForgotten] = useState<Forgotten | null>(null)
  const needed = !connected || asked.data?.state !== 'none' || asked.data.scopes_missing.length > 0
  return (
    <Group title={words.title}>
      {needed && <p className="text-soft">{words.intro}</p>}
      <Answer of={asked} rows={4} what={words.what}>
        {is => (
          <>
            <p aria-live="polite" className="flex flex-wrap items-center gap-x-1.5">
              {is.state === 'none' && connected ? (
                <State tone="done">{words.unneeded}</State>
              ) : (
                <State tone={tones[is.state]}>{words.states[is.state]}</State>
              )}{' '}
              {is.since && (
                <span className="text-soft">
                  {settings.gateway.since} <Age at={is.since} />
                </span>
              )}
            </p>
            {is.state !== 'none' && (
              <p className="wrap-anywhere">
                <bdi>{is.detail}</bdi>
              </p>
            )}
            {is.request && is.device && <Approve device={is.device} of={is.request} title={words.approve} />}
            {is.next && <Next of={is.next} />}
            {is.device && <Device of={is} />}
            {is.replaced && (
              <Note tone="info">
                <p className="mb-1.5">{words.replaced}</p>
                <Command text={is.replaced.remove_command} />
              </Note>
            )}
            {forgotten && <Gone of={forgotten} />}
            <Missing of={is.scopes_missing} />
            {needed && <Verbs of={is} onForgotten={setForgotten} />}
          </>
        )}
      </Answer>
    </Group>
  )
}

/** The command that approves a device, and the ID to compare. */
function Approve({
  of,
  device,
  title,
}: {
  of: NonNullable<Paired['request']>
  device: Schemas['PairingDevice']
  title: string
}) {
  return (
    <Note tone="attention">
      <div className="flex flex-col gap-1.5 text-ink">
        <p>{title}</p>
        <Command text={of.command} />
        <p>{words.check}</p>
        <Command label={words.device} text={device.device_id} />
        <p className="text-soft text-xs">
          {words.asks}: {of.scopes.join(', ')}
          {of.scopes_approved.length > 0 && ` · ${words.has}: ${of.scopes_approved.join(', ')}`}
        </p>
        <p>{words.noticed}</p>
      </div>
    </Note>
  )
}

function Next({ of }: { of: NonNullable<Paired['next']> }) {
  return (
    <>
      {of.request && <Approve device={of.device} of={of.request} title={words.approveNext} />}
      {of.error && (
        <Note tone="attention">
          <bdi>{of.error}</bdi>
        </Note>
      )}
    </>
  )
}

function Device({ of: is }: { of: Paired }) {
  const device = is.device
  if (!device) return null
  const rows: [string, ReactNode][] = [
    [
      words.device,
      <span className="break-all font-mono text-xs" key="id">
        {device.device_id}
      </span>,
    ],
    [
      words.fingerprint,
      <span className="break-all font-mono text-xs" key="print">
        {device.fingerprint}
      </span>,
    ],
    [
      words.made,
      device.made_at ? (
        <span key="made">
          <Age at={device.made_at} /> {settings.agents.ago}
        </span>
      ) : (
        words.states.settings
      ),
    ],
    [words.token, is.token_since ? <Token at={is.token_since} key="token" /> : words.noToken],
  ]
  return <Facts of={rows} />
}

const Token = ({ at }: { at: string }) => (
  <>
    {settings.gateway.since} <Age at={at} />
  </>
)

function Gone({ of }: { of: Forgotten }) {
  return (
    <Note tone="info">
      <div className="flex flex-col gap-1.5">
        <p>
          <bdi>{of.detail}</bdi>
        </p>
        {of.devices.length > 0 && <p>{words.forgotten}</p>}
        {of.devices.map(d => (
          <Command key={d.device_id} text={d.remove_command} />
        ))}
      </div>
    </Note>
  )
}

/** The scopes that are needed but not granted. */
function Missing({ of }: { of: Paired['scopes_missing'] }) {
  if (of.length === 0) return null
  return (
    <div>
      <h4 className="mb-1 font-medium">{words.missing}</h4>
      <ul className="divide-y divide-line">
        {of.map(m => (
          <li className="flex flex-col gap-1 py-1.5" key={m.scope}>
            <p>
              <span className="wrap-anywhere font-mono text-xs">{m.scope}</span>
              {!m.asked && <span className="text-soft"> · {words.notAsked}</span>}
            </p>
            {m.needed_for.length > 0 && (
              <p className="text-soft">
                {words.neededFor}: {m.needed_for.join(', ')}
              </p>
            )}
            <p>
              <bdi>{m.fix}</bdi>
            </p>
            {copyable(m.fix).map(text => (
              <Command key={text} text={text} />
            ))}
          </li>
        ))}
      </ul>
    </div>
  )
}

/** The actions for the current device. A device from the environment can't be changed here. */
function Verbs({ of: is, onForgotten }: { of: Paired; onForgotten: (of: Forgotten | null) => void }) {
  const cache = useQueryClient()
  const [asking, setAsking] = useState<'rotate' | 'forget' | null>(null)
  const put = (next: Paired) => cache.setQueryData(pairingQuery.queryKey, next)
  const act = (call: () => Promise<Paired>, told: string) => ({
    mutationFn: call,
    onSuccess: (next: Paired) => {
      put(next)
      setAsking(null)
      say(told)
    },
  })
  const start = useMutation({
    ...act(() => take(api.POST('/api/v1/agentrt/pairing')), words.started),
    onError: (err: unknown) => sayFailed(err),
    onMutate: () => onForgotten(null),
  })
  const rotate = useMutation(act(() => take(api.POST('/api/v1/agentrt/pairing/rotate')), words.rotated))
  const keep = useMutation({
    ...act(() => take(api.DELETE('/api/v1/agentrt/pairing/rotate')), words.kept),
    onError: (err: unknown) => sayFailed(err),
  })
  const forget = useMutation({
    mutationFn: () => take(api.DELETE('/api/v1/agentrt/pairing')),
    onSuccess: gone => {
      onForgotten(gone)
      setAsking(null)
      void cache.invalidateQueries({ queryKey: pairingQuery.queryKey })
    },
  })
  if (is.state === 'settings') return null
  const close = () => setAsking(null)
  return (
    <div className="flex flex-wrap gap-2">
      {is.state === 'none' ? (
        <Button busy={start.isPending} onClick={() => start.mutate()}>
          {words.start}
        </Button>
      ) : (
        <>
          {is.next ? (
            <Button busy={keep.isPending} onClick={() => keep.mutate()}>
              {words.keep}
            </Button>
          ) : (
            is.state !== 'unreadable' && <Button onClick={() => setAsking('rotate')}>{words.rotate}</Button>
          )}
          <Button look="danger" onClick={() => setAsking('forget')}>
            {words.forget}
          </Button>
        </>
      )}
      <Confirm
        of={rotate}
        onClose={close}
        onYes={() => rotate.mutate()}
        open={asking === 'rotate'}
        title={words.rotateTitle}
        yes={words.rotate}
      >
        <p>{words.rotateText}</p>
      </Confirm>
      <Confirm
        of={forget}
        onClose={close}
        onYes={() => forget.mutate()}
        open={asking === 'forget'}
        title={words.forgetTitle}
        yes={words.forget}
      >
        <p>{words.forgetText}</p>
      </Confirm>
    </div>
  )
}
