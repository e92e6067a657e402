import { headline } from '../app/headline'
import { localTimes } from '../app/localTimes'
import type { Item, Told } from './item'
import { kindTable } from './kinds'

/**
 * Returns the reason of an item in one line, without what its title says already. Null if its details haven't loaded or
 * say nothing new.
 */
export function reasonOf({ detail, title, last_at }: Pick<Told, 'detail' | 'title' | 'last_at'>): string | null {
  const [, said] = /: (.+)$/.exec(title) ?? []
  const line = headline(detail ?? null, said)
  const end = said ? (line?.indexOf(`: ${said}`) ?? -1) : -1
  const rest = line && end > 0 ? `${line.slice(0, end)}.` : line
  return rest === null || rest === title ? null : localTimes(rest, last_at)
}

/** Returns the details of an item in two parts: the error of a failure, or an empty text, and the rest. */
export function errorOf({ kind, detail, last_at, state }: Item): [error: string, rest: string] {
  const text = localTimes(detail, last_at)
  const at = kindTable[kind].failure && state !== 'resolved' ? /\n\s*\n/.exec(text) : null
  return at ? [text.slice(0, at.index), text.slice(at.index).trim()] : ['', text]
}
