import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ifMatch, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { money } from '../app/format'
import { leads, useMe } from '../app/queries'
import { limits as words } from '../texts/limits'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { Field, Select } from '../ui/Field'
import { Gauge } from '../ui/Gauge'
import { Heads } from '../ui/Heads'
import { State } from '../ui/State'
import { SubmitForm } from '../ui/SubmitForm'
import { say, sayFailed } from '../ui/toast'
import { Answer, Empty } from '../ui/Views'
import { FirstLimits, useForecast } from './FirstLimits'
import { useLimitName } from './Headroom'
import { isClose, isReached, quantity } from './headroom'
import { LimitForm } from './LimitForm'
import { type Limit, limitsQuery } from './limitQueries'

/** The limits on what agents spend. Everyone can read them; the owner and admins can change them. */
export function LimitsTab() {
  const me = useMe()
  const asked = useQuery(limitsQuery)
  const [edited, setEdited] = useState<Limit | 'new' | null>(null)
  const may = leads(me.data)
  const add = may && (
    <Button icon="plus" look={asked.data?.limits.length === 0 ? 'plain' : 'primary'} onClick={() => setEdited('new')}>
      {words.add}
    </Button>
  )
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0 grow basis-72">
          <h2 className="sr-only">{words.title}</h2>
          <p className="text-soft">{words.intro}</p>
        </div>
        {asked.data?.limits.length !== 0 && add}
      </div>
      {me.data && !may && (
        <p className="text-soft" role="note">
          {words.readOnly(me.data.role)}
        </p>
      )}
      <Answer of={asked} rows={4} what={words.what}>
        {({ limits }) =>
          limits.length === 0 ? (
            <Empty action={may && <FirstLimits add={add} className="items-center" />} icon="spend" title={words.none}>
              <PerDay />
            </Empty>
          ) : (
            <div>
              <Heads grid={grid} icons={false} of={words.heads} />
              <ul className="hairline divide-y divide-line rounded-md">
                {limits.map(l => (
                  <Row key={l.id} limit={l} may={may} onChange={() => setEdited(l)} />
                ))}
              </ul>
            </div>
          )
        }
      </Answer>
      <Dialog
        onClose={() => setEdited(null)}
        open={edited !== null}
        title={edited === null || edited === 'new' ? words.add : words.change}
      >
        {edited === 'new' && <LimitForm onClose={() => setEdited(null)} />}
        {edited !== null && edited !== 'new' && <ChangeForm limit={edited} onClose={() => setEdited(null)} />}
      </Dialog>
    </div>
  )
}

/** What agents spend on an average day, to choose an amount by. */
function PerDay() {
  const forecast = useForecast()
  return forecast ? words.perDay(money(forecast.per_day_usd)) : null
}

const actionChoices = (['tell', 'stop', 'hold'] as const).map(value => ({ value, label: words.actions[value] }))

/** The columns on wide screens. */
const grid = 'items-center gap-x-4 gap-y-1 px-3 sm:grid sm:grid-cols-[minmax(0,1fr)_16rem_15.5rem_5rem]'

function Row({ limit: l, may, onChange }: { limit: Limit; may: boolean; onChange: () => void }) {
  const name = useLimitName()(l)
  const cache = useQueryClient()
  const stop = useMutation({
    mutationFn: () => change(l, { action: 'stop' }),
    onSuccess: () => say(words.changed),
    onError: err => sayFailed(err, words.couldNot),
    onSettled: () => cache.invalidateQueries(limitsQuery),
  })
  return (
    <li className={`${grid} flex flex-wrap py-1.5`}>
      <span className="min-w-0 max-sm:grow max-sm:basis-40">
        <bdi className="wrap-anywhere font-medium">{name}</bdi>
        {!l.measurable && <span className="block text-attention">{words.unmeasured(l.unpriced_runs)}</span>}
      </span>
      <span className="flex flex-wrap items-center gap-x-2 text-soft max-sm:order-1">
        {l.used === null ? words.each : words.used(quantity(l, l.used), quantity(l, l.allowed))}
        {l.used !== null && <Gauge label={name} of={Number(l.allowed)} value={Number(l.used)} />}
        {isReached(l) ? (
          <State tone="danger">{words.reached}</State>
        ) : (
          isClose(l) && <State tone="attention">{words.close}</State>
        )}
      </span>
      <span className="text-soft max-sm:order-1 max-sm:basis-full">
        <span className="sm:sr-only">{words.fields.action}: </span>
        {l.action === 'tell' ? words.goesOn : words.actions[l.action]}
        {may && l.action === 'tell' && isClose(l) && (
          <Button
            aria-label={words.stopOf(name, isReached(l))}
            busy={stop.isPending}
            className="mt-1 block h-7!"
            look={isReached(l) ? 'danger' : 'plain'}
            onClick={() => stop.mutate()}
          >
            {words.stopRuns(isReached(l))}
          </Button>
        )}
      </span>
      {may && (
        <span className="ml-auto inline-flex">
          <Button aria-label={words.changeOf(name)} onClick={onChange}>
            {words.changeShort}
          </Button>
        </span>
      )}
    </li>
  )
}

const change = (l: Limit, body: Schemas['LimitChange']) =>
  take(api.PATCH('/api/v1/limits/{id}', { params: { path: { id: l.id }, header: ifMatch(l.version) }, body }))

/** The form that changes a limit's amount and action, or deletes the limit. */
function ChangeForm({ limit: l, onClose }: { limit: Limit; onClose: () => void }) {
  const cache = useQueryClient()
  const [amount, setAmount] = useState(l.amount)
  const [action, setAction] = useState(l.action)
  const remove = useMutation({
    mutationFn: () =>
      take(api.DELETE('/api/v1/limits/{id}', { params: { path: { id: l.id }, header: ifMatch(l.version) } })),
    onSuccess: () => {
      say(words.removed)
      onClose()
      return cache.invalidateQueries(limitsQuery)
    },
    onError: err => sayFailed(err, words.couldNot),
  })
  const save = useMutation({
    mutationFn: () => change(l, { amount, ...(action === l.action ? {} : { action }) }),
    onSuccess: () => {
      say(words.changed)
      onClose()
      return cache.invalidateQueries(limitsQuery)
    },
  })
  const problem = save.error ? asProblem(save.error) : null
  return (
    <SubmitForm busy={save.isPending} onCancel={onClose} onSend={() => save.mutate()} submit={words.save}>
      <Field
        autoComplete="off"
        autoFocus
        error={problem ? (problem.of('amount') ?? problem.message) : undefined}
        inputMode="decimal"
        label={words.fields.amount}
        onChange={e => setAmount(e.target.value)}
        required
        value={amount}
      />
      <Select
        choices={actionChoices}
        label={words.fields.action}
        onChange={e => setAction(e.target.value as Limit['action'])}
        value={action}
      />
      <Button busy={remove.isPending} className="self-start" look="danger" onClick={() => remove.mutate()}>
        {words.remove}
      </Button>
    </SubmitForm>
  )
}
