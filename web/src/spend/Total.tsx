import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { grouped } from '../app/format'
import { leads, useMe } from '../app/queries'
import { spend } from '../texts/spend'
import { buttonClass } from '../ui/Button'
import { Icon } from '../ui/Icon'
import { Count, Money } from './Bits'
import { longDay } from './split'
import { classes, known, type Report, tokensOf } from './sums'

const words = spend
const k = words.known

/** The total of a period by source of the price, and its tokens. Unpriced runs are listed, never counted as zero. */
export function Total({
  report,
  days,
  activeRuns,
}: {
  report: Report
  days: { first: string; last: string }
  /** Usage that the period doesn't include yet. */
  activeRuns: ReactNode
}) {
  const of = report.total
  const parts = known(of)
  const mayPrice = leads(useMe().data)
  return (
    <section
      aria-label={words.total}
      className="grid grid-cols-1 gap-4 lg:grid-cols-[auto_minmax(0,56rem)_auto] lg:justify-between lg:gap-8"
    >
      <div className="min-w-40">
        <p className="text-soft text-xs">{words.inPeriod(longDay(days.first), longDay(days.last))}</p>
        <p className="font-semibold text-2xl" data-total="">
          <Money usd={of.cost_usd} />
        </p>
        {of.unpriced_runs > 0 && of.cost_usd !== null && (
          <p className="text-attention">{words.withUnpriced(of.unpriced_runs)}</p>
        )}
        <p className="text-soft">
          {grouped(of.runs)} {words.runs.toLowerCase()}
        </p>
        {activeRuns}
      </div>
      <dl className="grid grid-cols-2 content-start gap-x-6 gap-y-2">
        <Fact help={k.runtimeHelp} name={k.runtime}>
          <Money usd={parts.runtime} />
        </Fact>
        <Fact help={k.estimatedHelp} name={k.estimated}>
          <Money usd={parts.estimated} />
        </Fact>
        <Fact
          help={parts.unpriced > 0 ? k.unpricedHelp : k.noneUnpriced}
          name={k.unpriced}
          tone={parts.unpriced > 0 ? 'text-attention' : ''}
        >
          <span>
            {parts.unpriced > 0 && <Icon className="mr-1 inline size-3.5" name="warning" />}
            {k.ofRuns(parts.unpriced, parts.runs)}
          </span>
          {parts.unpriced > 0 && (
            <Link
              className={buttonClass()}
              search={was => ({ ...was, part: 'prices' as const })}
              from="/spend"
              to="/spend"
            >
              {mayPrice ? k.setPrices : k.seePrices}
            </Link>
          )}
        </Fact>
        <Fact help={k.adjustmentsHelp} name={k.adjustments}>
          {grouped(of.corrections)}
        </Fact>
      </dl>
      <dl
        className="grid grid-cols-3 content-start gap-x-4 gap-y-1 sm:grid-cols-6 lg:min-w-44 lg:grid-cols-1 lg:gap-y-0"
        title={words.tokens.help}
      >
        {classes.map(c => (
          <TokenCount key={c} name={words.tokens[c]} of={of.tokens[c]} />
        ))}
        <TokenCount name={words.tokens.sum} of={tokensOf(of.tokens)} whole />
      </dl>
    </section>
  )
}

function TokenCount({ name, of, whole = false }: { name: string; of: number; whole?: boolean }) {
  return (
    <div className={`lg:flex lg:justify-between ${whole ? 'font-medium lg:mt-0.5 lg:border-line lg:border-t' : ''}`}>
      <dt className={whole ? 'text-xs lg:text-sm' : 'text-soft text-xs lg:text-sm'}>{name}</dt>
      <dd>
        <Count of={of} />
      </dd>
    </div>
  )
}

function Fact({ name, help, tone = '', children }: { name: string; help: string; tone?: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-soft text-xs">{name}</dt>
      <dd className={`flex flex-wrap items-center gap-x-2 font-medium ${tone}`}>{children}</dd>
      <dd className="text-soft text-xs">{help}</dd>
    </div>
  )
}
