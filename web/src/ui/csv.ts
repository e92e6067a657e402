/** A cell of a table for a spreadsheet. What would be a formula there is kept from being one. */
export function cell(v: string): string {
  // Some spreadsheets begin a cell behind a semicolon or a new line, too, and take its quotation marks away.
  const parts = v.replace(/([;\t\r\n]"*)([=+\-@＝＋－＠])/g, "$1'$2")
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(parts) ? `'${parts}` : parts
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export const csv = (rows: readonly (readonly string[])[]): string =>
  `${rows.map(r => r.map(cell).join(',')).join('\r\n')}\r\n`

/** Has the browser save a table under a name. */
export function saveCsv(name: string, rows: readonly (readonly string[])[]): void {
  const url = URL.createObjectURL(new Blob([csv(rows)], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
