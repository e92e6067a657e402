const formats = new Map<string, Intl.DateTimeFormat>()

const looks = {
  time: { hour: '2-digit', minute: '2-digit' },
  exact: { hour: '2-digit', minute: '2-digit', second: '2-digit' },
  weekday: { weekday: 'short', hour: '2-digit', minute: '2-digit' },
  day: { day: 'numeric', month: 'short' },
  second: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' },
  long: { weekday: 'long' },
  date: { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>

/** Formats a moment briefly: 08:06, 08:06:31, Thu 08:06, 12 Nov, 12 Nov 08:06:31, Thu 12 Nov 08:06. Defaults to the local time zone. */
export function clock(at: string | number, zone: string | undefined, look: keyof typeof looks = 'time'): string {
  const name = `${look} ${zone}`
  const known =
    formats.get(name) ?? new Intl.DateTimeFormat('en-GB', { ...looks[look], ...(zone ? { timeZone: zone } : {}) })
  formats.set(name, known)
  return known.format(typeof at === 'string' ? Date.parse(at) : at).replaceAll(',', '')
}
