import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { asProblem, type Problem } from '../api/problem'
import { fineMoney, nanos } from '../app/format'
import { spend } from '../texts/spend'
import { DayField } from '../ui/DayField'
import { Field } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { say, sayFailed } from '../ui/toast'
import { type Editing, isAmount, priceId, sameDigits, withPrice } from './prices'
import { modelsQuery, type Price, type Prices, pricesQuery } from './queries'
import { savePrices } from './savePrices'
import { classes } from './sums'

const words = spend.prices

interface Props {
  edited: Editing
  prices: Prices
  onClose: () => void
}

/** The form for a price. It keeps its input when the table changes. */
export function PriceForm({ edited, prices, onClose }: Props) {
  const cache = useQueryClient()
  const { was } = edited
  // The version of the table that the user has seen, so that saving doesn't overwrite unseen changes.
  const [version, setVersion] = useState(prices.version)
  const [draft, setDraft] = useState(edited.draft)
  const [tried, setTried] = useState(false)
  const models = useQuery(modelsQuery).data
  const list = useId()
  const save = useMutation({
    mutationFn: (next: Price) => savePrices(cache, all => withPrice(all, was, next), version),
    onSuccess: (_, next) => {
      say(words.saved(next.model), () => {
        savePrices(cache, all => withPrice(all, next, was)).catch(err => sayFailed(err, words.couldNot))
      })
      onClose()
    },
    onError: async err => {
      if (asProblem(err).status !== 412) return
      setVersion((await cache.query(pricesQuery)).version)
    },
  })
  const problem = save.error ? asProblem(save.error) : null
  const at = withPrice(prices.prices, was, draft).indexOf(draft)
  const wrong = (name: keyof Price) => problem?.of(`prices/${at}/${name}`)
  const set = (name: keyof Price) => (e: { target: { value: string } }) =>
    setDraft(d => ({ ...d, [name]: e.target.value }))
  // Hardly any model has a price for other tokens.
  const shown = classes.filter(c => c !== 'other' || nanos(edited.draft.other) !== 0n)
  const amounts = classes.every(c => isAmount(draft[c]))
  const send = () => {
    setTried(true)
    if (amounts && !save.isPending)
      save.mutate({ ...draft, model: draft.model.trim(), provider: draft.provider.trim() })
  }
  return (
    <SubmitForm busy={save.isPending} onCancel={onClose} onSend={send} submit={was ? words.save : words.create}>
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-3">
        <Field
          autoComplete="off"
          autoFocus={edited.draft.model === ''}
          error={wrong('model')}
          help={words.help.model}
          label={words.required}
          {...(models?.[0] ? { placeholder: words.forExample(models[0].model) } : {})}
          list={`${list}-models`}
          maxLength={200}
          onChange={set('model')}
          required
          value={draft.model}
        />
        <Field
          autoComplete="off"
          error={wrong('provider')}
          help={words.help.provider}
          label={words.fields.provider}
          list={`${list}-providers`}
          maxLength={100}
          onChange={set('provider')}
          value={draft.provider}
        />
        <DayField
          error={wrong('from')}
          help={words.help.from}
          label={words.fields.from}
          onPick={day => day && set('from')({ target: { value: day } })}
          required
          value={draft.from}
        />
      </div>
      <datalist id={`${list}-models`}>
        {[...new Set(models?.map(m => m.model))].map(m => (
          <option key={m} value={m} />
        ))}
      </datalist>
      <datalist id={`${list}-providers`}>
        {[...new Set(models?.map(m => m.provider))].map(p => (
          <option key={p} value={p} />
        ))}
      </datalist>
      <fieldset>
        <legend className="pb-1 font-medium">
          {words.perMillion} <span className="font-normal text-soft text-xs">{words.help.amounts}</span>
        </legend>
        <div className="grid grid-cols-2 gap-3 sm:grid-cols-4">
          {shown.map(c => (
            <Field
              key={c}
              autoComplete="off"
              autoFocus={c === 'input' && edited.draft.model !== ''}
              error={wrong(c) ?? (tried && !isAmount(draft[c]) ? words.amount : undefined)}
              inputMode="decimal"
              label={words.fields[c]}
              onChange={set(c)}
              required
              value={draft[c]}
            />
          ))}
        </div>
      </fieldset>
      {problem && <Refused draft={draft} prices={prices} problem={problem} was={was} />}
    </SubmitForm>
  )
}

/** Why saving failed; after a conflict, the current price. */
function Refused({
  problem,
  was,
  draft,
  prices,
}: {
  problem: Problem
  was: Price | null
  draft: Price
  prices: Prices
}) {
  if (problem.status === 409) return <Words>{words.busy}</Words>
  if (problem.status !== 412) return problem.fields.length > 0 ? null : <Words>{problem.message}</Words>
  const theirs = prices.prices.find(p => priceId(p) === priceId(was ?? draft))
  return (
    <div className="text-danger" role="alert">
      <p>{words.stale(prices.version)}</p>
      {was && !theirs && <p>{words.theirsGone}</p>}
      {theirs && !(was && sameDigits(was, theirs)) && (
        <p>
          {words.theirs} {classes.map(c => `${words.fields[c]} ${fineMoney(theirs[c])}`).join(', ')}
        </p>
      )}
    </div>
  )
}

const Words = ({ children }: { children: string }) => (
  <p className="text-danger" role="alert">
    {children}
  </p>
)
