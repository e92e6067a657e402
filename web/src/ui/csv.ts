/** Quotes a CSV cell, and escapes values that a spreadsheet would run as formulas. Negative numbers are none. */
function cell(v: string): string {
  if (/^-[\d.]+$/.test(v)) return v
  // Some spreadsheets also start a cell after a semicolon or line break, and strip quotation marks.
  const parts = v.replace(/([;\t\r\n]"*)([=+\-@＝＋－＠])/g, "$1'$2")
  const safe = /^[ \u00a0\u200b\ufeff]*[=+\-@\t\r\n＝＋－＠]/.test(parts) ? `'${parts}` : parts
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export const csv = (rows: readonly (readonly string[])[]): string =>
  `${rows.map(r => r.map(cell).join(',')).join('\r\n')}\r\n`

/** Returns rows as a file, with the byte order mark without which Excel misreads letters. */
export const csvFile = (rows: readonly (readonly string[])[]): Blob =>
  new Blob(['\ufeff', csv(rows)], { type: 'text/csv;charset=utf-8' })

/** Saves rows, or a file that is CSV already. */
export function saveCsv(name: string, rows: Blob | readonly (readonly string[])[]): void {
  const url = URL.createObjectURL(rows instanceof Blob ? rows : csvFile(rows))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // Some browsers start reading only after the click returns.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
