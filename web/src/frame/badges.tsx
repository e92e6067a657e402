import { useQuery } from '@tanstack/react-query'
import type { PlaceId } from '../app/places'
import { leads, queries, useMe } from '../app/queries'
import { needsCountQuery } from '../inbox/queries'
import { texts } from '../texts'

const words = texts.app

export interface Badge {
  /** The visible text: a number or a mark. */
  text: string
  /** The text for screen readers. */
  label: string
}

/** Gateway states that only a person can resolve. */
const stuck = ['unauthorized', 'unpaired', 'untrusted', 'missing_scopes']
const most = 99

/** Returns the badges of pages that need action: inbox items that need the user, and a gateway that needs attention. */
export function useBadges(): Partial<Record<PlaceId, Badge>> {
  const me = useMe().data
  const sees = me !== undefined && me.role !== 'agent'
  const needs = useQuery({ ...needsCountQuery, enabled: sees }).data
  const gateway = useQuery(queries.gateway).data
  return {
    ...(needs ? { inbox: { text: needs > most ? `${most}+` : String(needs), label: words.badge(needs) } } : {}),
    ...(gateway && leads(me) && stuck.includes(gateway.state)
      ? { settings: { text: '!', label: words.gatewayBadge } }
      : {}),
  }
}

/** A badge, beside the page's name or on the corner of its icon. */
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
