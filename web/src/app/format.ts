/** Text for what is not known. There is no zero for it. */
export const unknown = 'unknown'

const nano = 1_000_000_000n

/** Dollars as the API writes them, such as "0.028314", in whole nano-dollars. Null when it is no amount. */
export function nanos(usd: string | null | undefined): bigint | null {
  const found = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(usd ?? '')
  if (!found) return null
  const whole = BigInt(found[2] ?? '0') * nano + BigInt((found[3] ?? '').padEnd(9, '0') || '0')
  return found[1] ? -whole : whole
}

const numbers = new Intl.NumberFormat('en-US')

/** A whole number with its thousands apart: 1,234,567. A formatter that is kept takes a twentieth of the time. */
export const grouped = (n: number | bigint): string => numbers.format(n)

/** Rounded to `digits` behind the point, halves away from zero. */
function fixed(n: bigint, digits: number): string {
  const step = 10n ** BigInt(9 - digits)
  const units = (n + step / 2n) / step
  const scale = 10n ** BigInt(digits)
  const whole = grouped(units / scale)
  return digits === 0 ? whole : `${whole}.${(units % scale).toString().padStart(digits, '0')}`
}

/**
 * An amount to read: two digits from ten cents on, more below, so that a cent
 * of a cent is not a zero. Null is "unknown".
 */
export function money(usd: string | null | undefined): string {
  const n = nanos(usd)
  if (n === null) return unknown
  const sign = n < 0n ? '−' : ''
  const size = n < 0n ? -n : n
  if (size === 0n) return '$0'
  if (size < 100_000n) return `${sign}<$0.0001`
  if (size < nano / 100n) return `${sign}$${fixed(size, 4)}`
  if (size < nano / 10n) return `${sign}$${fixed(size, 3)}`
  if (size < 1000n * nano) return `${sign}$${fixed(size, 2)}`
  return `${sign}$${fixed(size, 0)}`
}

/** What runs cost as far as it is known, and how many have no price. */
export function cost(of: { cost_usd?: string | null; unpriced_runs: number; runs: number }): string {
  // A correction of the ledger has an amount and is no run.
  if (of.unpriced_runs > 0 && (nanos(of.cost_usd) ?? 0n) === 0n && of.unpriced_runs >= of.runs) return 'unpriced'
  return of.unpriced_runs > 0 ? `${money(of.cost_usd)} + ${of.unpriced_runs} unpriced` : money(of.cost_usd)
}

/** A count of tokens in at most four characters and a letter: 812, 1.2k, 34k, 1.2M. */
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

/** How long, in its one or two largest units: 8 s, 5 min, 3 h 20 min, 1 d 23 h, 4 d. */
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

/** How long ago, or how soon. */
export function age(at: string, now: number): string {
  const ms = now - Date.parse(at)
  if (Number.isNaN(ms)) return unknown
  return ms >= 0 ? span(ms) : `in ${span(-ms)}`
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Making one costs more than using it a hundred times. */
function format(name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const known = formats.get(name) ?? new Intl.DateTimeFormat('en-GB', options)
  formats.set(name, known)
  return known
}

/** A moment in a zone; the zone of whoever looks when none is given. */
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

let mine = { zone: '', until: 0 }

/** The zone of whoever looks. They may travel; a page asks some hundred times, and an answer takes a tenth of a millisecond. */
export function myZone(): string {
  const now = performance.now()
  if (now >= mine.until) mine = { zone: Intl.DateTimeFormat().resolvedOptions().timeZone, until: now + 10_000 }
  return mine.zone
}

/** A moment as the service counts its days, and as the one who looks does, when that differs. */
export function moments(at: string, service: string | undefined): string {
  const mine = myZone()
  if (!service || service === mine) return `${moment(at)} (${mine})`
  return `${moment(at, service)} (${service})\n${moment(at)} (${mine}, yours)`
}

/** A day without a year while it is this one: 20 Nov. */
export function day(at: string): string {
  const d = new Date(at)
  const other = d.getFullYear() !== new Date().getFullYear()
  return format(`day ${other}`, { day: 'numeric', month: 'short', ...(other ? { year: 'numeric' } : {}) }).format(d)
}
