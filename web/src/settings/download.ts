/** Downloads a file. */
export function saveAs(content: Blob, name: string): void {
  const address = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // Some browsers start reading only after the click returns.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
