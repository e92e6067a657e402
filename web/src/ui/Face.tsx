import { type Hue, hueOf, initialsOf } from './hue'

/** The background in an agent's color. */
export const grounds: Record<Hue, string> = {
  1: 'bg-hue-1',
  2: 'bg-hue-2',
  3: 'bg-hue-3',
  4: 'bg-hue-4',
  5: 'bg-hue-5',
  6: 'bg-hue-6',
  7: 'bg-hue-7',
  8: 'bg-hue-8',
}

const sizes = {
  sm: 'size-5 rounded-[5px] text-[9.5px] tracking-tight',
  md: 'size-6 rounded-md text-[11px]',
  lg: 'size-9 rounded-md text-base',
} as const

interface Props {
  /** The agent's ID; null for a person. */
  agent: string | null
  name: string
  size?: keyof typeof sizes
  className?: string
}

/**
 * A monogram beside a name: agents are colored squares, people gray circles. Hidden from screen readers, which read the
 * name.
 */
export function Face({ agent, name, size = 'sm', className = '' }: Props) {
  const look = agent === null ? 'rounded-full! bg-hover text-soft' : `${grounds[hueOf(agent)]} text-on-hue`
  return (
    <span
      aria-hidden="true"
      className={`inline-flex shrink-0 select-none items-center justify-center font-semibold ${sizes[size]} ${look} ${className}`}
      data-face={agent ?? ''}
    >
      {initialsOf(name || agent || '')}
    </span>
  )
}

/** An agent's face and name. */
export function AgentName({ id, name, className = '' }: { id: string; name: string; className?: string }) {
  return (
    <span className={`inline-flex min-w-0 max-w-full items-center gap-1.5 ${className}`}>
      <Face agent={id} name={name} />
      <bdi className="truncate">{name || id}</bdi>
    </span>
  )
}
