/**
 * Puts a text onto the clipboard and says whether that worked. Browsers offer
 * the clipboard on secure origins alone, and the service may be opened as
 * http://10.0.0.5:3000: there what is shown is selected and copied as by hand.
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
