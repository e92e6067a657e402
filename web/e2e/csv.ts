// Reads the CSV files that the dashboard saves.
import { nanos } from '../src/app/format.ts'

/** Parses CSV (RFC 4180) with the byte order mark that Excel needs. */
export function readCsv(file: string): string[][] {
  const text = file.slice(1)
  if (file[0] !== '\ufeff') throw new Error('The file has no byte order mark.')
  const rows: string[][] = []
  let row: string[] = []
  let cell = ''
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const c = text[i]
    if (quoted) {
      if (c !== '"') cell += c
      else if (text[i + 1] === '"') {
        cell += c
        i++
      } else quoted = false
    } else if (c === '"') quoted = true
    else if (c === ',' || c === '\n') {
      row.push(cell)
      cell = ''
      if (c === '\n') {
        rows.push(row)
        row = []
      }
    } else if (c !== '\r') cell += c
  }
  if (cell !== '' || row.length > 0) rows.push([...row, cell])
  return rows
}

/** Returns the cost in a file, in nano-dollars. */
export function csvTotal(text: string): bigint {
  const [head = [], ...rows] = readCsv(text)
  return rows.reduce((n, r) => n + (nanos(r[head.indexOf('cost_usd')]) ?? 0n), 0n)
}
