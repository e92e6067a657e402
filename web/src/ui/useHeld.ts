import { useCallback, useEffect, useRef, useState } from 'react'

const own = new Set<string>()

/** A row that this person made themselves: it is shown at once, wherever rows are held back. */
export const noteOwn = (id: string): void => void own.add(id)

/**
 * Rows that nobody asked for wait until somebody asks: what one is reading does
 * not move. Rows that are there change and go in place. `about` says what the
 * rows are of; with another one all of them are shown anew. While they are still
 * being read, none is held back.
 */
export function useHeld<T>(
  rows: readonly T[] | undefined,
  idOf: (row: T) => string,
  about: string,
  reading: boolean,
): { rows: T[] | undefined; waiting: number; show: () => void } {
  const shown = useRef<{ about: string; ids: Set<string> } | null>(null)
  const [, again] = useState(0)
  const settled = useRef(false)
  if (rows && (shown.current?.about !== about || !settled.current)) {
    shown.current = { about, ids: new Set(rows.map(idOf)) }
  }
  useEffect(() => {
    settled.current = rows !== undefined && !reading && shown.current?.about === about
  }, [rows, reading, about])
  const show = useCallback(() => {
    settled.current = false
    again(n => n + 1)
  }, [])
  if (!rows || !shown.current) return { rows: undefined, waiting: 0, show }
  const { ids } = shown.current
  for (const row of rows) if (own.has(idOf(row))) ids.add(idOf(row))
  const visible = rows.filter(row => ids.has(idOf(row)))
  return { rows: visible, waiting: rows.length - visible.length, show }
}
