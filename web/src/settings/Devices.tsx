import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas } from '../api/client'
import { session } from '../app/session'
import { settings } from '../texts/settings'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Badge } from '../ui/State'
import { say, sayFailed } from '../ui/toast'
import { Answer } from '../ui/Views'
import { Ago, Confirm, Group } from './Bits'
import { devicesQuery } from './queries'

const words = settings.devices
type Device = Schemas['AccountDevice']

/** How many devices are shown at first. */
const few = 5

/** The browsers and programs that are signed in to the user's account, this one first. */
export function Devices() {
  const asked = useQuery(devicesQuery)
  const [asking, setAsking] = useState(false)
  const [all, setAll] = useState(false)
  const others = asked.data?.filter(d => !d.current).length ?? 0
  return (
    <Group actions={<Button onClick={() => setAsking(true)}>{words.outAll(others)}</Button>} title={words.title}>
      <Answer of={asked} rows={3} what={words.what}>
        {list => {
          const sorted = thisFirst(list)
          const groups = all || list.length <= few ? sorted.map(d => [d] as const) : folded(sorted)
          return (
            <>
              <ul aria-label={words.title} className="-my-1.5 divide-y divide-line">
                {groups.map(([first, ...equal]) => (
                  <Row device={first} key={first.id} more={equal.length} />
                ))}
              </ul>
              {!all && list.length > groups.length && (
                <div>
                  <Button onClick={() => setAll(true)}>{words.showAll(list.length)}</Button>
                </div>
              )}
              <Everywhere onClose={() => setAsking(false)} open={asking} others={others} />
            </>
          )
        }}
      </Answer>
    </Group>
  )
}

const thisFirst = (list: readonly Device[]) => list.toSorted((a, b) => Number(b.current) - Number(a.current))

type Devices = readonly [Device, ...Device[]]

/** Groups devices that look the same, but for this one. */
function folded(list: readonly Device[]): Devices[] {
  const groups = new Map<string, Devices>()
  for (const d of list) {
    const id = d.current ? d.id : d.device
    const own = groups.get(id)
    groups.set(id, own ? [...own, d] : [d])
  }
  return [...groups.values()]
}

/** A device, or the first of several that look the same. */
function Row({ device: d, more }: { device: Device; more: number }) {
  const cache = useQueryClient()
  const out = useMutation({
    mutationFn: () => api.DELETE('/api/v1/auth/me/sessions/{id}', { params: { path: { id: d.id } } }),
    onSuccess: () => say(words.out(d.device)),
    onError: err => sayFailed(err),
    onSettled: () => cache.invalidateQueries({ queryKey: devicesQuery.queryKey }),
  })
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2" data-device={d.current ? 'current' : d.id}>
      <div className="min-w-0 grow basis-48">
        <p className="flex flex-wrap items-center gap-x-2 font-medium" title={d.user_agent}>
          <bdi>{d.device}</bdi>
          {more > 0 && <span className="font-normal text-soft">{words.signIns(more + 1)}</span>}
          {d.current && <Badge tone="active">{words.current}</Badge>}
        </p>
        <p className="text-soft text-xs">
          {more > 0 ? words.lastSignIn : words.since} <Ago at={d.created_at} />
          {!d.current && more === 0 && <LastUsed at={d.last_used_at} since={d.created_at} />}
        </p>
      </div>
      {!d.current && more === 0 && (
        <Button aria-label={words.signOutNamed(d.device)} busy={out.isPending} onClick={() => out.mutate()}>
          {words.signOut}
        </Button>
      )}
    </li>
  )
}

/** When a device was last used, which is known to the hour. It is left out for one that has just signed in. */
function LastUsed({ at, since }: { at: string; since: string }) {
  if (Date.now() - Date.parse(since) < 3_600_000) return null
  if (Date.now() - Date.parse(at) < 3_600_000) return <>{` · ${words.used} ${words.thisHour}`}</>
  return (
    <>
      {' · '}
      {words.used} <Age at={at} /> {settings.agents.ago}
    </>
  )
}

/** Confirms signing out the other devices, or all. */
function Everywhere({ open, others, onClose }: { open: boolean; others: number; onClose: () => void }) {
  const cache = useQueryClient()
  const out = useMutation({
    mutationFn: (here: boolean) =>
      api.DELETE('/api/v1/auth/me/sessions', { params: { query: { include_current: here } } }),
    onSuccess: (_, here) => {
      onClose()
      if (here) return session.signOut()
      say(words.outOthers)
      void cache.invalidateQueries({ queryKey: devicesQuery.queryKey })
    },
  })
  return (
    <Confirm
      of={out}
      onClose={onClose}
      onYes={form => out.mutate(form.get('here') === 'on')}
      open={open}
      title={words.outAllTitle(others)}
      yes={words.signOut}
    >
      <p>{words.outAllText(others)}</p>
      <label className="flex min-h-8 items-center gap-2 pointer-coarse:min-h-10">
        <input className="size-4 accent-accent" defaultChecked={others === 0} name="here" type="checkbox" />
        {words.here}
      </label>
    </Confirm>
  )
}
