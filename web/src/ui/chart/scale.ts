/**
 * Returns about `count` round tick values that cover the range and include zero, in steps of 1, 2, or 5 times a power
 * of ten. Values are integers: nano-dollars or tokens.
 */
export function ticks(least: bigint, most: bigint, count = 4): bigint[] {
  const low = least < 0n ? least : 0n
  const high = most > 0n ? most : 0n
  if (high === low) return [0n]
  const step = roundUp((high - low + BigInt(count) - 1n) / BigInt(count))
  const list: bigint[] = []
  for (let at = -roundTo(-low, step); ; at += step) {
    list.push(at)
    if (at >= high) return list
  }
}

/** Returns the smallest of 1, 2, 5, 10, 20, 50, … that is at least n. */
function roundUp(n: bigint): bigint {
  for (let power = 1n; ; power *= 10n) {
    for (const digit of [1n, 2n, 5n]) if (digit * power >= n) return digit * power
  }
}

/** Returns the smallest multiple of step that is at least n. */
const roundTo = (n: bigint, step: bigint): bigint => ((n + step - 1n) / step) * step

/** Returns the start and end of each stacked part. Positive parts stack up, negative ones down. */
export function stack(parts: readonly bigint[]): { from: bigint; to: bigint }[] {
  let up = 0n
  let down = 0n
  return parts.map(part => {
    if (part >= 0n) {
      up += part
      return { from: up - part, to: up }
    }
    down += part
    return { from: down - part, to: down }
  })
}

/** Returns the lowest and highest point of all bars. */
export function reach(bars: readonly (readonly bigint[])[]): { least: bigint; most: bigint } {
  let least = 0n
  let most = 0n
  for (const bar of bars) {
    for (const { to } of stack(bar)) {
      if (to < least) least = to
      if (to > most) most = to
    }
  }
  return { least, most }
}

/** Returns the position of a value in a range, from 0 to 1, with six digits. */
export const part = (value: bigint, least: bigint, most: bigint): number =>
  most === least ? 0 : Number(((value - least) * 1_000_000n) / (most - least)) / 1_000_000

const steps = [1, 2, 3, 4, 6, 7, 8, 12, 14, 16, 24]

/** Returns how many bars share one label, given the room and the label width. */
export function labelStep(bars: number, room: number, label: number): number {
  const fit = Math.max(1, Math.floor(room / label))
  return steps.find(s => Math.ceil(bars / s) <= fit) ?? Math.max(1, bars)
}
