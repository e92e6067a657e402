import { readMarkdown } from '../ui/markdown'
import { textOf } from '../ui/plainText'
import type { Call, Step } from './steps'

/** A place in a transcript that contains the searched text. */
export interface Match {
  /** Index of the step, and of the call in it; -1 for the step's own text. */
  step: number
  call: number
  /** Which match it is within that text. */
  nth: number
}

/** More matches are not counted. */
export const mostMatches = 5_000

/** Returns the arguments as an object if they are valid JSON that parsing doesn't alter. */
export function argumentsOf(c: Call): Record<string, unknown> | null {
  // Parsing would round numbers with this many digits.
  if (c.arguments === null || c.arguments_cut > 0 || /\d{16}/.test(c.arguments)) return null
  try {
    const v: unknown = JSON.parse(c.arguments)
    return typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : null
  } catch {
    return null
  }
}

export const written = (v: unknown): string => (typeof v === 'string' ? v : (JSON.stringify(v, null, 2) ?? ''))

/** Returns the arguments of a call as they are shown. */
export function argumentsText(c: Call): string {
  const all = argumentsOf(c)
  if (all === null) return c.arguments ?? ''
  return Object.entries(all)
    .map(([name, v]) => `${name}: ${written(v)}`)
    .join('\n')
}

/** The searchable texts of steps as they are shown, in lowercase: the step's own, or one per call. */
const known = new WeakMap<Step, string[]>()

function textsOf(s: Step): string[] {
  const made = known.get(s)
  if (made) return made
  const texts =
    s.kind === 'tools'
      ? s.calls.map(c => [argumentsText(c), c.result ?? ''].join('\n').toLowerCase())
      : [(s.kind === 'error' || s.kind === 'note' ? s.text : textOf(readMarkdown(s.text))).toLowerCase()]
  known.set(s, texts)
  return texts
}

/** Returns the text to find, in lowercase and composed, as texts are stored. */
export const wantedOf = (query: string): string => query.trim().normalize('NFC').toLowerCase()

/** Finds a text in the steps, ignoring case, from the first step to the last. */
export function matchesOf(steps: readonly Step[], query: string): Match[] {
  const wanted = wantedOf(query)
  const found: Match[] = []
  if (wanted === '') return found
  for (const [step, s] of steps.entries()) {
    for (const [i, text] of textsOf(s).entries()) {
      let nth = 0
      for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
        found.push({ step, call: s.kind === 'tools' ? i : -1, nth: nth++ })
        if (found.length >= mostMatches) return found
      }
    }
  }
  return found
}
