import { nanos } from '../app/format'

/** The rows of a table as text (RFC 4180). */
export function readCsv(text: string): string[][] {
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

/** What the lines of usage.csv add up to. */
export function csvTotal(text: string): { runs: number; cost: bigint } {
  const [head = [], ...rows] = readCsv(text)
  const runs = head.indexOf('runs')
  const cost = head.indexOf('cost_usd')
  return {
    runs: rows.reduce((n, r) => n + Number(r[runs] ?? 0), 0),
    cost: rows.reduce((n, r) => n + (nanos(r[cost]) ?? 0n), 0n),
  }
}

/** Keeps a cell from being taken for a formula, as the service does. An amount below zero is none. */
function safe(cell: string): string {
  if (/^-[\d.]+$/.test(cell)) return cell
  const parts = cell.replace(/([;\t\r\n]"*)([=+\-@＝＋－＠])/g, "$1'$2")
  return /^[=+\-@\t\r\n＝＋－＠]/.test(parts) ? `'${parts}` : parts
}

/** A table as text, with the same rules as the service's own. */
export const writeCsv = (rows: readonly (readonly string[])[]): string =>
  rows
    .map(row =>
      row
        .map(safe)
        .map(cell => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
        .join(','),
    )
    .map(line => `${line}\r\n`)
    .join('')
