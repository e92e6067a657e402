/** Saves a file. */
export function saveFile(name: string, file: Blob): void {
  const url = URL.createObjectURL(file)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // Some browsers start reading only after the click returns.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
