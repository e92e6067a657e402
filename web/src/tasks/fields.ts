/** Returns the local day of a moment, for a date field. */
export function localDay(at: string): string {
  const d = new Date(at)
  const digits = (n: number, many: number) => String(n).padStart(many, '0')
  return `${digits(d.getFullYear(), 4)}-${digits(d.getMonth() + 1, 2)}-${digits(d.getDate(), 2)}`
}

/** Returns the end of a day as a timestamp; undefined for an implausible day. */
export function eveningOf(day: string): string | null | undefined {
  if (day === '') return null
  const at = new Date(`${day}T18:00`)
  const year = at.getFullYear()
  return year >= 2000 && year <= 9999 ? at.toISOString() : undefined
}

/** Returns the tags in a text with commas, each once. */
export const tagsIn = (text: string): string[] => [...new Set(text.split(',').map(t => t.trim()))].filter(Boolean)

/** Returns the lines of a text, without empty ones, each once. */
export const linesIn = (text: string): string[] => [...new Set(text.split('\n').map(t => t.trim()))].filter(Boolean)
