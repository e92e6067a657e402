/**
 * Copies text to the clipboard and returns whether it worked. The clipboard API exists only on secure origins, and
 * Wardroom may be opened as http://10.0.0.5:3000; there the shown text is selected and copied with execCommand.
 */
export async function copyText(text: string, shown: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const selection = getSelection()
    if (!shown || !selection) return false
    selection.selectAllChildren(shown)
    return document.execCommand('copy')
  }
}
