import { useId } from 'react'

/** Each series has a color and a pattern, so that color alone is never needed. */
const looks = ['a', 'b', 'c', 'd', 'e', 'f', 'none', 'rest'] as const
export type Look = (typeof looks)[number]

const fills: Record<Look, string> = {
  a: 'fill-chart-a',
  b: 'fill-chart-b',
  c: 'fill-chart-c',
  d: 'fill-chart-d',
  e: 'fill-chart-e',
  f: 'fill-chart-f',
  none: 'fill-chart-rest',
  rest: 'fill-chart-rest',
}

/** The pattern over the color, in an 8 by 8 square. The first has none. */
const lines: Record<Look, string> = {
  a: '',
  b: 'M-1 9L9 -1M-1 1L1 -1M7 9L9 7',
  c: 'M0 4H8',
  d: 'M1 2H3.500M5 6H7.500',
  e: 'M4 0V8',
  f: 'M0 4H8M4 0V8',
  none: '',
  rest: 'M-1 -1L9 9M-1 7L1 9M7 -1L9 1',
}

function Texture({ look, id }: { look: Look; id: string }) {
  return (
    <pattern height="8" id={id} patternUnits="userSpaceOnUse" width="8">
      <rect className={fills[look]} height="8" width="8" />
      {lines[look] && (
        <path
          className="stroke-ground"
          d={lines[look]}
          fill="none"
          strokeOpacity={0.7}
          strokeWidth={look === 'd' ? 2.5 : 1.25}
        />
      )}
    </pattern>
  )
}

/** The pattern definitions of one chart. `id` makes their IDs unique. */
export function Textures({ id }: { id: string }) {
  return (
    <defs>
      {looks.map(look => (
        <Texture key={look} id={`${id}-${look}`} look={look} />
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
