import { useId } from 'react'

/** Each part of a bar has a colour and a pattern, so that neither is needed alone. */
export const looks = ['a', 'b', 'c', 'd', 'e', 'f', 'none', 'rest'] as const
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

/** What is drawn over the colour, in a square of 8; the first has none. */
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

/** The textures of one drawing. `id` keeps those of two apart. */
export function Textures({ id }: { id: string }) {
  return (
    <defs>
      {looks.map(look => (
        <Texture key={look} id={`${id}-${look}`} look={look} />
      ))}
    </defs>
  )
}

/** A piece of a bar, beside the name of what it stands for. */
export function Swatch({ look }: { look: Look }) {
  const id = useId()
  return (
    <svg aria-hidden="true" className="size-3.5 shrink-0" focusable="false" viewBox="0 0 14 14">
      <Texture id={id} look={look} />
      <rect fill={`url(#${id})`} height="14" rx="2" width="14" />
    </svg>
  )
}
