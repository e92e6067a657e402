import { useCallback, useEffect, useRef, useState } from 'react'

const own = new Set<string>()

/** Marks a row as already shown or as created by this user, so that it shows at once. */
export const noteOwn = (id: string): void => void own.add(id)

/**
 * Holds back new rows until the user asks for them, so that the list doesn't move while being read. Existing rows
 * update and disappear in place. All rows are shown when `about` changes and while `reading` is true.
 */
export function useHeldRows<T>(
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
