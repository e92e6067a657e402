import { nanos } from '../app/format'

/** Parses CSV (RFC 4180). */
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

/** Returns the sums of a usage.csv file. */
export function csvTotal(text: string): { runs: number; cost: bigint } {
  const [head = [], ...rows] = readCsv(text)
  const runs = head.indexOf('runs')
  const cost = head.indexOf('cost_usd')
  return {
    runs: rows.reduce((n, r) => n + Number(r[runs] ?? 0), 0),
    cost: rows.reduce((n, r) => n + (nanos(r[cost]) ?? 0n), 0n),
  }
}

/** Escapes formulas like the server does. Negative amounts are not formulas. */
function safe(cell: string): string {
  if (/^-[\d.]+$/.test(cell)) return cell
  const parts = cell.replace(/([;\t\r\n]"*)([=+\-@＝＋－＠])/g, "$1'$2")
  return /^[=+\-@\t\r\n＝＋－＠]/.test(parts) ? `'${parts}` : parts
}

/** Formats rows as CSV, by the server's rules. */
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
