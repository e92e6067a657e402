import { useQuery } from '@tanstack/react-query'
import type { PlaceId } from '../app/places'
import { leads, queries, useMe } from '../app/queries'
import { openCountQuery } from '../inbox/queries'
import { texts } from '../texts'

const words = texts.app

export interface Badge {
  /** What is seen: a number, or a mark. */
  text: string
  /** What is said. */
  label: string
}

/** The states of the gateway out of which only a person leads. */
const stuck = ['unauthorized', 'unpaired', 'untrusted', 'missing_scopes']
const most = 99

/** Where a person must act, and nowhere else: items that nobody has looked at, and a gateway that waits for an approval. */
export function useBadges(): Partial<Record<PlaceId, Badge>> {
  const me = useMe().data
  const sees = me !== undefined && me.role !== 'agent'
  const open = useQuery({ ...openCountQuery, enabled: sees }).data
  const gateway = useQuery(queries.gateway).data
  return {
    ...(open ? { inbox: { text: open > most ? `${most}+` : String(open), label: words.badge(open) } } : {}),
    ...(gateway && leads(me) && stuck.includes(gateway.state)
      ? { settings: { text: '!', label: words.gatewayBadge } }
      : {}),
  }
}

/** The badge of a place, at its name where that is seen, else at the corner of its drawing. */
export function BadgeMark({ of, className }: { of: Badge | undefined; className: string }) {
  if (!of) return null
  return (
    <span
      className={`inline-flex h-4 min-w-4 items-center justify-center rounded-sm bg-danger-tint px-1 font-semibold text-danger text-xs ${className}`}
    >
      <span aria-hidden="true">{of.text}</span>
      <span className="sr-only">{of.label}</span>
    </span>
  )
}
