import { grouped, money, nanos, usd } from '../app/format'
import { spend } from '../texts/spend'
import { amountsOf, type Report } from './sums'

const words = spend.compare

/** Returns how one cost compares with another: "12 % more than". */
export function changeText(now: bigint, before: bigint): string {
  if (now === before) return words.same
  const percent = before > 0n ? Math.round(Number(((now - before) * 1000n) / before) / 10) : Number.POSITIVE_INFINITY
  if (percent === Number.POSITIVE_INFINITY) return words.than(money(usd(before)))
  if (percent >= 200) return words.times(((percent + 100) / 100).toFixed(percent < 900 ? 1 : 0))
  if (percent === 0) return words.about
  return percent > 0 ? words.more(percent) : words.less(-percent)
}

/** Returns the sentence that compares the cost of `days` days with the ones before; null if either is unknown. */
export function comparison(
  { previous }: Pick<Report, 'previous'>,
  cost: string | null | undefined,
  days: number,
  running: boolean,
): string | null {
  const [now, before] = [nanos(cost), nanos(previous?.cost_usd)]
  if (now === null || before === null) return null
  const period = days > 1 ? words.days(days) : running ? words.yesterday : words.dayBefore
  return `${changeText(now, before)} ${period}`
}

/** Returns the forecast in whole dollars, or exactly below $10. */
export function forecastText(cost: string): string {
  const n = nanos(cost) ?? 0n
  return n < 10_000_000_000n ? money(cost) : `$${grouped((n + 500_000_000n) / 1_000_000_000n)}`
}

/** Returns the cost of one priced run; null if there is none. */
export function perRun(report: Report): string | null {
  const { cost, runs, unpriced } = amountsOf(report.total)
  return runs > unpriced ? usd(cost / BigInt(runs - unpriced)) : null
}
