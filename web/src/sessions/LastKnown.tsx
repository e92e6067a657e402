import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { sessions as sessionsWords } from '../texts/sessions'
import { Age } from '../ui/Age'
import { costOf, StandingMark } from './Bits'
import { knownQuery } from './queries'
import { useListNames } from './useListNames'

const words = sessionsWords
const none: readonly [] = []

/** The sessions at the last contact with the runtime, shown apart from live data. */
export function LastKnown() {
  const known = useQuery(knownQuery).data?.rows
  const names = useListNames(known ?? none)
  if (!known || known.length === 0) return null
  return (
    <section className="mx-auto max-w-3xl px-3 pb-6">
      <p className="py-2 text-soft">{words.away.known}</p>
      <ul className="hairline divide-y divide-line rounded-md">
        {known.map(s => (
          <li key={s.id} className="flex min-h-8 flex-wrap items-center gap-x-3 px-3 py-1">
            <Link
              className="min-w-0 grow truncate font-medium hover:underline"
              params={{ key: s.id }}
              to="/sessions/$key"
            >
              <bdi>{names.nameOf(s)}</bdi>
            </Link>
            <StandingMark of={s} />
            <bdi className="text-soft">{names.agent(s.agent_id)}</bdi>
            <span className="text-soft">{costOf(s)}</span>
            <Age at={s.as_of} className="text-soft" />
          </li>
        ))}
      </ul>
    </section>
  )
}
