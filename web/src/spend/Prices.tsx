import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTicking } from '../app/clock'
import { addDays, dayIn } from '../app/days'
import { nanos } from '../app/format'
import { leads, useMe } from '../app/queries'
import { texts } from '../texts'
import { spend } from '../texts/spend'
import { Age } from '../ui/Age'
import { Button, IconButton } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { dayText } from '../ui/dates'
import { Icon } from '../ui/Icon'
import { type NumberColumn, NumberTable } from '../ui/NumberTable'
import { State } from '../ui/State'
import { say, sayFailed } from '../ui/toast'
import { Answer, Empty, Skeleton } from '../ui/Views'
import { Money } from './Bits'
import { PriceForm } from './PriceForm'
import { editing, inOrder, newPriceId, priceId, stateOf, withPrice } from './prices'
import { type Price, type Prices, pricesQuery } from './queries'
import { reportQuery } from './report'
import { savePrices } from './savePrices'
import type { Go, SpendSearch } from './search'
import { shortDay } from './split'
import { classes } from './sums'

const words = spend.prices

/** The price table. Everyone can read it; the owner and admins can change it. */
export function PricesTab({ search, go }: { search: SpendSearch; go: Go }) {
  const me = useMe()
  const asked = useQuery(pricesQuery)
  const today = useTicking(now => dayIn(now, 'UTC'))
  const may = leads(me.data)
  const close = () => go({ price: undefined }, true)
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0 grow basis-72">
          <h2 className="font-semibold text-base">{words.title}</h2>
          <p className="text-soft">{words.intro}</p>
        </div>
        {may && asked.data?.prices.length !== 0 && (
          <Button icon="plus" look="primary" onClick={() => go({ price: newPriceId() })}>
            {words.add}
          </Button>
        )}
      </div>
      {me.data && !may && (
        <p className="text-soft" role="note">
          {words.readOnly(me.data.role)}
        </p>
      )}
      <Models go={go} may={may} today={today} />
      <Answer of={asked} rows={4} what={words.what}>
        {prices => (
          <>
            <Table go={go} may={may} prices={prices} today={today} />
            <Dialog
              onClose={close}
              open={search.price !== undefined}
              title={search.price?.startsWith('new') ? words.add : words.edit}
              wide
            >
              {me.data === undefined ? (
                <Skeleton label={texts.ui.loading} rows={3} />
              ) : !may ? (
                <p>{words.readOnly(me.data.role)}</p>
              ) : (
                search.price && (
                  <Editor key={search.price} close={close} id={search.price} prices={prices} today={today} />
                )
              )}
            </Dialog>
          </>
        )}
      </Answer>
    </div>
  )
}

/** Returns the models of the last 30 days: those whose runs have no price, and those that need none. */
function useModels(today: string) {
  const from = addDays(today, -29)
  const { data: report, isPending } = useQuery(reportQuery({ from, to: addDays(today, 1), zone: 'UTC' }, 'model'))
  const models = report?.groups.filter(g => g.unpriced_runs > 0 && g.key !== null) ?? []
  const reported =
    report?.groups.filter(g => g.unpriced_runs === 0 && g.key !== null && nanos(g.estimated_usd) === 0n) ?? []
  return { from, models, reported, isPending }
}

/** Returns names as a list in a sentence. */
const inWords = (names: readonly string[]) => new Intl.ListFormat('en').format(names)

/** Names the models of the last 30 days, with a way to price those that need it. */
function Models({ may, today, go }: { may: boolean; today: string; go: Go }) {
  const { from, models } = useModels(today)
  if (models.length === 0) return null
  return (
    <ul className="flex flex-col gap-1 rounded-md bg-attention-tint px-3 py-1.5 text-attention">
      {models.map(g => (
        <li key={g.key} className="flex flex-wrap items-center gap-x-2">
          <Icon className="size-3.5" name="warning" />
          <bdi className="wrap-anywhere font-medium">{g.key}</bdi> {words.lacking(g.unpriced_runs)}
          {may && (
            <button
              className="font-medium underline"
              onClick={() => go({ price: newPriceId(g.key ?? '', from) })}
              type="button"
            >
              {words.set}
            </button>
          )}
        </li>
      ))}
    </ul>
  )
}

/** Reads the price once, so that others' changes don't overwrite the form. */
function Editor({ id, prices, today, close }: { id: string; prices: Prices; today: string; close: () => void }) {
  const [edited] = useState(() => editing(id, prices.prices, today))
  return edited ? <PriceForm edited={edited} onClose={close} prices={prices} /> : <p>{words.gone}</p>
}

function Table({ prices, may, today, go }: { prices: Prices; may: boolean; today: string; go: Go }) {
  const list = prices.prices
  const { models, reported, isPending } = useModels(today)
  const noneNeeded = models.length === 0 && reported.length > 0
  if (list.length === 0 && isPending) return <Skeleton label={texts.ui.loading} rows={3} />
  if (list.length === 0)
    return (
      <Empty
        action={
          may ? (
            <Button icon="plus" onClick={() => go({ price: newPriceId() })}>
              {words.add}
            </Button>
          ) : undefined
        }
        icon="spend"
        title={noneNeeded ? words.noneNeeded : words.empty}
      >
        {noneNeeded && (
          <>
            {words.reported} <bdi className="text-ink">{inWords(reported.map(g => g.key ?? ''))}</bdi>.
          </>
        )}
      </Empty>
    )
  const columns: NumberColumn<Price>[] = [
    {
      id: 'model',
      label: words.fields.model,
      cell: p => (
        <span>
          <bdi className="font-medium">{p.model}</bdi>{' '}
          <bdi className="text-soft text-xs">{p.provider || words.anyProvider}</bdi>
        </span>
      ),
    },
    {
      id: 'from',
      label: words.fields.from,
      wide: true,
      left: true,
      cell: p => <time dateTime={p.from}>{dayText(p.from)}</time>,
    },
    {
      id: 'state',
      label: words.fields.state,
      wide: true,
      left: true,
      cell: p => <PriceState all={list} of={p} today={today} />,
    },
    ...classes
      .filter(c => c !== 'other' || list.some(p => nanos(p.other) !== 0n))
      .map(c => ({
        id: c,
        label: words.fields[c],
        ...(c === 'input' || c === 'output' ? {} : { wide: true as const }),
        cell: (p: Price) => <Money usd={p[c]} />,
      })),
    ...(may ? [{ id: 'actions', label: words.fields.actions, cell: (p: Price) => <Actions go={go} of={p} /> }] : []),
  ]
  return (
    <>
      <p className="text-soft text-xs">
        {words.perMillion}
        {prices.updated_at && (
          <>
            {' · '}
            {words.changed} <Age at={prices.updated_at} /> {words.ago}{' '}
            <bdi>{words.by(prices.updated_by ?? words.somebody)}</bdi>
          </>
        )}
      </p>
      <NumberTable columns={columns} idOf={priceId} label={words.title} rows={inOrder(list)} />
    </>
  )
}

function PriceState({ of, all, today }: { of: Price; all: readonly Price[]; today: string }) {
  const { now, until } = stateOf(of, all, today)
  if (now) return <State tone="active">{until ? words.state.nowUntil(shortDay(until)) : words.state.now}</State>
  return of.from > today ? (
    <State icon="clock" tone="idle">
      {words.state.later}
    </State>
  ) : (
    <State icon="archive" tone="idle">
      {words.state.over(until ? shortDay(until) : '')}
    </State>
  )
}

function Actions({ of, go }: { of: Price; go: Go }) {
  const cache = useQueryClient()
  const remove = useMutation({
    mutationFn: () => savePrices(cache, list => withPrice(list, of, null)),
    onSuccess: () =>
      say(words.removed(of.model), () => {
        savePrices(cache, list => withPrice(list, of, of)).catch(err => sayFailed(err, words.couldNot))
      }),
    onError: err => {
      sayFailed(err, words.couldNot)
      void cache.invalidateQueries({ queryKey: pricesQuery.queryKey })
    },
  })
  return (
    <span className="inline-flex">
      <IconButton icon="pencil" label={words.editOf(of.model, of.from)} onClick={() => go({ price: priceId(of) })} />
      <IconButton
        disabled={remove.isPending}
        icon="close"
        label={words.removeOf(of.model, of.from)}
        onClick={() => remove.mutate()}
      />
    </span>
  )
}
