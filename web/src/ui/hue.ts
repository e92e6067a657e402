/** The colors of agents, in tokens.css. They also color the series of charts. */
export const hues = [1, 2, 3, 4, 5, 6, 7, 8] as const
export type Hue = (typeof hues)[number]

/** Returns the color of an agent, which depends only on its ID (FNV-1a). */
export function hueOf(agentId: string): Hue {
  let hash = 0x811c9dc5
  for (let i = 0; i < agentId.length; i++) hash = Math.imul(hash ^ agentId.charCodeAt(i), 0x01000193)
  return hues[(hash >>> 0) % hues.length] ?? 1
}

/** Returns one or two letters for a name: the initials of its first two words, or its first two letters. */
export function initialsOf(name: string): string {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? []
  const letters = words.length > 1 ? words.slice(0, 2).map(w => [...w][0] ?? '') : [...(words[0] ?? '?')].slice(0, 2)
  return letters.join('').toLocaleUpperCase('en-US')
}
