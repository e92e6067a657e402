/** Where one wanted to go, if that is a path of ours: an address that leads elsewhere is a trap. */
export function safeBack(v: unknown): string | undefined {
  if (typeof v !== 'string' || !v.startsWith('/') || /^\/(login|register)\b/.test(v)) return undefined
  // Browsers take a backslash for a slash, and leave out tabs and line ends.
  return /^\/[/\\]|[\\\s]/.test(v) ? undefined : v
}
