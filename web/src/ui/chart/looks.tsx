import { type SVGProps, useId } from 'react'
import type { Hue } from '../hue'

/** A series has a color, and a pattern that shows with high contrast. */
export interface Look {
  /** Null is gray, for "all others"; 0 is light gray, for "no group". */
  hue: Hue | 0 | null
  pattern: Pattern
  /** Whether the pattern is always drawn. */
  striped?: true
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
export const fillOf = (hue: Look['hue']): string =>
  hue === null ? 'fill-chart-rest' : hue === 0 ? 'fill-line-strong' : fills[hue]

/** The pattern definitions of one chart: `{id}-{index}` for each series. */
export function Textures({ id, looks }: { id: string; looks: readonly Look[] }) {
  return (
    <defs>
      {looks.map((look, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index is the name of the pattern
        <pattern key={i} height="8" id={`${id}-${i}`} patternUnits="userSpaceOnUse" width="8">
          <path
            className="stroke-ground"
            d={patterns[look.pattern]}
            fill="none"
            strokeWidth={look.pattern === 3 ? 2.5 : 1.25}
          />
        </pattern>
      ))}
    </defs>
  )
}

/** A shape of a series: its color and, for people who ask for contrast, its pattern. */
export function Part({ look, pattern, ...box }: { look: Look; pattern: string } & SVGProps<SVGRectElement>) {
  return (
    <>
      <rect {...box} className={`stroke-ground ${fillOf(look.hue)}`} />
      {patterns[look.pattern] && (
        <rect
          {...box}
          className={look.striped ? '' : 'hidden contrast-more:inline forced-colors:inline'}
          fill={`url(#${pattern})`}
        />
      )}
    </>
  )
}

/** A legend swatch. */
export function Swatch({ look }: { look: Look }) {
  const id = useId()
  return (
    <svg aria-hidden="true" className="size-3.5 shrink-0" focusable="false" viewBox="0 0 14 14">
      <Textures id={id} looks={[look]} />
      <Part height="14" look={look} pattern={`${id}-0`} rx="3" width="14" />
    </svg>
  )
}
