import { standups } from '../texts/standups'
import type { Progress } from './standup'

const words = standups.progress

/** Returns a sentence about the current phase. It changes only with the phase, because it is announced each time. */
export function progressSentence(p: Progress, nameOf: (agent: string) => string): string {
  switch (p.now) {
    case 'opened':
      return words.opened
    case 'gathering':
      return words.gathering
    case 'asking':
      return words.asking(nameOf(p.who ?? ''), Math.min(p.done + 1, p.of), p.of)
    case 'between':
      return p.done === p.of ? words.allHeard : words.between(p.done, p.of)
    case 'reviewing':
      return words.reviewing(nameOf(p.who ?? ''))
  }
}
