import { useId } from 'react'
import type { Hue } from '../hue'

/** A series has a color and a pattern, so that color alone is never needed. */
export interface Look {
  /** Null is gray, for "no group" and "all others". */
  hue: Hue | null
  pattern: Pattern
}

/** The lines over the color, in an 8 by 8 square. */
const patterns = [
  '',
  'M-1 9L9 -1M-1 1L1 -1M7 9L9 7',
  'M0 4H8',
  'M1 2H3.500M5 6H7.500',
  'M4 0V8',
  'M0 4H8M4 0V8',
  'M-1 -1L9 9M-1 7L1 9M7 -1L9 1',
] as const
type Pattern = 0 | 1 | 2 | 3 | 4 | 5 | 6

const fills: Record<Hue, string> = {
  1: 'fill-hue-1',
  2: 'fill-hue-2',
  3: 'fill-hue-3',
  4: 'fill-hue-4',
  5: 'fill-hue-5',
  6: 'fill-hue-6',
  7: 'fill-hue-7',
  8: 'fill-hue-8',
}

const strokes: Record<Hue, string> = {
  1: 'stroke-hue-1',
  2: 'stroke-hue-2',
  3: 'stroke-hue-3',
  4: 'stroke-hue-4',
  5: 'stroke-hue-5',
  6: 'stroke-hue-6',
  7: 'stroke-hue-7',
  8: 'stroke-hue-8',
}

/** Returns the class of a line in an agent's color. */
export const strokeOf = (hue: Hue): string => strokes[hue]

/** Returns the class that fills a shape with a color. */
export const fillOf = (hue: Hue | null): string => (hue === null ? 'fill-chart-rest' : fills[hue])

function Texture({ look, id }: { look: Look; id: string }) {
  const lines = patterns[look.pattern]
  return (
    <pattern height="8" id={id} patternUnits="userSpaceOnUse" width="8">
      <rect className={fillOf(look.hue)} height="8" width="8" />
      {lines && (
        <path
          className="stroke-ground"
          d={lines}
          fill="none"
          strokeOpacity={0.7}
          strokeWidth={look.pattern === 3 ? 2.5 : 1.25}
        />
      )}
    </pattern>
  )
}

/** The pattern definitions of one chart: `{id}-{index}` for each series. */
export function Textures({ id, looks }: { id: string; looks: readonly Look[] }) {
  return (
    <defs>
      {looks.map((look, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index is the name of the pattern
        <Texture key={i} id={`${id}-${i}`} look={look} />
      ))}
    </defs>
  )
}

/** A legend swatch. */
export function Swatch({ look }: { look: Look }) {
  const id = useId()
  return (
    <svg aria-hidden="true" className="size-3.5 shrink-0" focusable="false" viewBox="0 0 14 14">
      <Texture id={id} look={look} />
      <rect fill={`url(#${id})`} height="14" rx="2" width="14" />
    </svg>
  )
}
