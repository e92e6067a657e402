const day = 86_400_000

/** The longest span of one request, in ms. */
export const longestSpan = 31 * day

/** Estimates how far back the last `count` slots reach, in ms, from the widest gap between upcoming runs. */
export function spanOf(next: readonly { at: string }[], count: number): number {
  const times = next.map(n => Date.parse(n.at))
  const gaps = times.slice(1).map((t, i) => t - (times[i] ?? t))
  const widest = gaps.length > 0 ? Math.max(...gaps) : day
  return Math.min(longestSpan, Math.max(3_600_000, widest * (count + 1)))
}
