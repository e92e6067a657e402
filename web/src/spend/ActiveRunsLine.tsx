import { useQuery } from '@tanstack/react-query'
import { cost } from '../app/format'
import { activeRuns as words } from '../texts/activeRuns'
import { sessionHref, TextLink } from '../ui/TextLink'
import { activeRunsQuery, soFar } from './activeRuns'

/** How much of the total is of active runs, and a link to them; nothing if there are none. */
export function ActiveRunsLine() {
  const { data } = useQuery(activeRunsQuery)
  const [first, ...others] = data?.runs ?? []
  if (!data?.as_of || !first) return null
  return (
    <p className="text-soft" data-going="" title={words.help}>
      {words.includes} <span className="text-ink">{cost(soFar(data.runs))}</span> {words.soFar}{' '}
      <TextLink
        className="text-accent underline"
        href={others.length ? '/sessions?state=active' : sessionHref(first.session_key)}
      >
        {words.runs}
      </TextLink>
    </p>
  )
}
