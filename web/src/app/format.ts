/** Shown for unknown values, which are never shown as zero. */
export const unknown = 'unknown'

const nano = 1_000_000_000n

/** Converts a dollar amount of the API, such as "0.028314", to nano-dollars. Null when it is not an amount. */
export function nanos(usd: string | null | undefined): bigint | null {
  const found = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(usd ?? '')
  if (!found) return null
  const whole = BigInt(found[2] ?? '0') * nano + BigInt((found[3] ?? '').padEnd(9, '0') || '0')
  return found[1] ? -whole : whole
}

/** Converts nano-dollars to an exact decimal string: "0.028314". */
export function usd(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos
  const rest = (size % nano).toString().padStart(9, '0').replace(/0+$/, '')
  return `${nanos < 0n ? '-' : ''}${size / nano}${rest && `.${rest}`}`
}

const numbers = new Intl.NumberFormat('en-US')

/**
 * Formats an integer with thousands separators: 1,234,567. The formatter is cached, because creating one is 20 times
 * slower.
 */
export const grouped = (n: number | bigint): string => numbers.format(n)

/** Rounds to `digits` decimal places, halves away from zero. */
function fixed(n: bigint, digits: number): string {
  const step = 10n ** BigInt(9 - digits)
  const units = (n + step / 2n) / step
  const scale = 10n ** BigInt(digits)
  const whole = grouped(units / scale)
  return digits === 0 ? whole : `${whole}.${(units % scale).toString().padStart(digits, '0')}`
}

/**
 * Formats an amount in cents, so that the amounts of a column line up. A smaller one doesn't show as zero. Null becomes
 * "unknown".
 */
export function money(usd: string | null | undefined): string {
  const n = nanos(usd)
  if (n === null) return unknown
  if (n === 0n) return '$0'
  const sign = n < 0n ? '−' : ''
  const size = n < 0n ? -n : n
  return size < nano / 100n ? `${sign}<$0.01` : `${sign}$${fixed(size, 2)}`
}

/** Formats an amount like money, but a small one with up to four decimals: prices and the steps of a scale. */
export function fineMoney(usd: string | null | undefined): string {
  const n = nanos(usd)
  if (n === null || n < nano / 10_000n || n >= nano / 10n) return money(usd)
  return `$${fixed(n, n < nano / 100n ? 4 : 3)}`
}

/** Formats the known cost of runs and the number of unpriced runs. */
export function cost(of: { cost_usd?: string | null; unpriced_runs: number; runs: number }): string {
  // A ledger adjustment has an amount but no run.
  if (of.unpriced_runs > 0 && (nanos(of.cost_usd) ?? 0n) === 0n && of.unpriced_runs >= of.runs) return 'unpriced'
  return of.unpriced_runs > 0 ? `${money(of.cost_usd)} + ${of.unpriced_runs} unpriced` : money(of.cost_usd)
}

/** Formats a token count in at most four digits and a unit: 812, 1.2k, 34k, 1.2M. */
export function tokens(n: number | null | undefined): string {
  if (n === null || n === undefined) return unknown
  for (const [size, letter] of [
    [1e9, 'B'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const) {
    if (n >= size * 0.9995) {
      const v = n / size
      return `${v >= 99.95 ? Math.round(v) : v.toFixed(1).replace(/\.0$/, '')}${letter}`
    }
  }
  return String(n)
}

/** Formats a duration in its one or two largest units: 8 s, 5 min, 3 h 20 min, 1 d 23 h, 4 d. */
export function span(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000))
  if (s < 60) return `${s} s`
  const min = Math.floor(s / 60)
  if (min < 60) return `${min} min`
  const h = Math.floor(min / 60)
  if (h < 24) return h < 10 && min % 60 ? `${h} h ${min % 60} min` : `${h} h`
  const d = Math.floor(h / 24)
  if (d === 1 && h % 24) return `1 d ${h % 24} h`
  return d < 100 ? `${d} d` : `${Math.floor(d / 30.44)} mo`
}

/** Formats how long ago a moment was, in its largest unit, or how soon it comes. */
export function age(at: string, now: number): string {
  const ms = now - Date.parse(at)
  if (Number.isNaN(ms)) return unknown
  return ms >= 0 ? span(ms).replace(/^(\d+ \w+) .*/, '$1') : `in ${span(-ms)}`
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns a cached formatter: creating one costs more than using it a hundred times. */
function format(name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const known = formats.get(name) ?? new Intl.DateTimeFormat('en-GB', options)
  formats.set(name, known)
  return known
}

/** Formats a moment in a time zone, by default the local one. */
export function moment(at: string, zone?: string): string {
  const d = new Date(at)
  if (Number.isNaN(d.getTime())) return unknown
  return format(`moment ${zone}`, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    ...(zone ? { timeZone: zone } : {}),
  }).format(d)
}

/** Formats a moment briefly: Mon 23 Nov, 09:00. Defaults to the local time zone. */
export function shortIn(at: string, zone?: string): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return at
  try {
    return format(`short ${zone}`, {
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      hour: '2-digit',
      minute: '2-digit',
      ...(zone ? { timeZone: zone } : {}),
    }).format(date)
  } catch {
    // The runtime knows this time zone, but the browser doesn't.
    return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  }
}

let mine = { zone: '', until: 0 }

/** Returns the local time zone, cached for 10 s: it can change while traveling, and each lookup takes 0.1 ms. */
export function myZone(): string {
  const now = performance.now()
  if (now >= mine.until) mine = { zone: Intl.DateTimeFormat().resolvedOptions().timeZone, until: now + 10_000 }
  return mine.zone
}

/** Formats a moment in the server's time zone, and in the local one where it differs. */
export function moments(at: string, service: string | undefined): string {
  const mine = myZone()
  if (!service || service === mine) return `${moment(at)} (${mine})`
  return `${moment(at, service)} (${service})\n${moment(at)} (${mine}, yours)`
}

/** Formats a day, without the year if it is the current one: 20 Nov. */
export function day(at: string): string {
  const d = new Date(at)
  const other = d.getFullYear() !== new Date().getFullYear()
  return format(`day ${other}`, { day: 'numeric', month: 'short', ...(other ? { year: 'numeric' } : {}) }).format(d)
}
