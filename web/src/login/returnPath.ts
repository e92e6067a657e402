/** Returns the return path if it is a path of this site, to prevent open redirects. */
export function safeReturnPath(v: unknown): string | undefined {
  if (typeof v !== 'string' || !v.startsWith('/') || /^\/(login|register)\b/.test(v)) return undefined
  // Browsers treat backslashes as slashes, and drop tabs and line breaks.
  return /^\/[/\\]|[\\\s]/.test(v) ? undefined : v
}
