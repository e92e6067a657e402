/** Quotes a CSV cell, and escapes values that a spreadsheet would run as formulas. Negative numbers are none. */
function cell(v: string): string {
  if (/^-[\d.]+$/.test(v)) return v
  // Some spreadsheets also start a cell after a semicolon or line break, and strip quotation marks.
  const parts = v.replace(/([;\t\r\n]"*)([=+\-@＝＋－＠])/g, "$1'$2")
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(parts) ? `'${parts}` : parts
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export const csv = (rows: readonly (readonly string[])[]): string =>
  `${rows.map(r => r.map(cell).join(',')).join('\r\n')}\r\n`

/** Saves rows, or text that is CSV already, as a file. */
export function saveCsv(name: string, rows: string | readonly (readonly string[])[]): void {
  const text = typeof rows === 'string' ? rows : csv(rows)
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser has read the blob by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
