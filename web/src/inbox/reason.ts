import { headline } from '../app/headline'
import type { Told } from './item'

/** Returns the reason of an item in one line, or null if its details haven't loaded or say nothing new. */
export function reasonOf({ detail, title }: Pick<Told, 'detail' | 'title'>): string | null {
  const line = headline(detail ?? null)
  return line === title ? null : line
}
