/** Hands a file to the browser, which asks where to put it. */
export function saveAs(content: Blob, name: string): void {
  const address = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // Some browsers begin to read after the click has returned.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
