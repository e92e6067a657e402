import { useMemo } from 'react'
import { useSessionNames } from '../sessions/useSessionNames'
import { inbox as inboxWords } from '../texts/inbox'
import { Age } from '../ui/Age'
import { Icon } from '../ui/Icon'
import { type Look, State } from '../ui/State'
import { TextLink } from '../ui/TextLink'
import { type Item, subjectHref, type Told } from './item'
import { kindTable } from './kinds'

const words = inboxWords

const severityLook: Record<Item['severity'], Look> = {
  urgent: { tone: 'danger', icon: 'warning' },
  high: { tone: 'attention', icon: 'up' },
  medium: { tone: 'idle', icon: 'equal' },
  low: { tone: 'idle', icon: 'down' },
}

/** The severity of an item. */
export const SeverityMark = ({ of }: { of: Item['severity'] }) => (
  <State {...severityLook[of]}>{words.severity[of]}</State>
)

const stateLook: Record<Item['state'], Look> = {
  open: { tone: 'attention', icon: 'inbox' },
  acked: { tone: 'idle', icon: 'check' },
  snoozed: { tone: 'idle', icon: 'clock' },
  resolved: { tone: 'done', icon: 'checks' },
}

/** The status of an item; for snoozed items also until when. */
export const StateMark = ({ of }: { of: Told }) => (
  <State {...stateLook[of.state]}>
    {words.state[of.state]}
    {of.snoozed_until !== null && (
      <span>
        · <Age at={of.snoozed_until} />
      </span>
    )}
  </State>
)

export const KindMark = ({ of }: { of: Item['kind'] }) => (
  <span className="inline-flex items-center gap-1 whitespace-nowrap">
    <Icon className="size-3.5" name={kindTable[of].icon} />
    {kindTable[of].label}
  </span>
)

/** A link to what the item is about, or plain text if there is no page for it. */
export function SubjectLink({ of }: { of: Told }) {
  const href = subjectHref(of)
  const { kind, id, name } = of.subject
  const nameOf = useSessionNames(useMemo(() => (kind === 'session' ? [id] : []), [kind, id]))
  const kindName = words.subjectKind[kind] ?? kind
  const text = (
    <>
      {kindName} <bdi>{kind === 'session' ? nameOf(id).name : name || id}</bdi>
    </>
  )
  if (href === null) return <span className="truncate">{text}</span>
  return (
    <TextLink className="block min-w-0 truncate text-accent leading-[24px] hover:underline" href={href}>
      {text}
    </TextLink>
  )
}
