import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import * as clock from '../app/clock'
import { grouped, myZone } from '../app/format'
import { queries } from '../app/queries'
import { shortIn } from '../schedules/times'
import { canonical } from '../sessions/liveSessions'
import { agentOf } from '../sessions/session'
import { useSessionNames } from '../sessions/useSessionNames'
import { spend } from '../texts/spend'
import { Face } from '../ui/Face'
import { type NumberColumn, NumberTable } from '../ui/NumberTable'
import { sessionHref, TextLink } from '../ui/TextLink'
import { useActiveIn, withActive } from './activeRuns'
import { Cost, Count, nameClass, Section } from './Bits'
import { partId } from './split'
import { amountsOf, type Report, type Share, tokensOf } from './sums'

const words = spend
const most = 10

/** The most expensive sessions, with their active runs. The CSV file has all sessions. */
export function TopSessions({ ended }: { ended: Report }) {
  const active = useActiveIn(ended)
  const report = useMemo(() => withActive(ended, active, clock.now()), [ended, active])
  const rows = useMemo(
    () =>
      report.groups
        .filter(g => !g.rest)
        .toSorted((a, b) => Number(amountsOf(b).cost - amountsOf(a).cost))
        .slice(0, most),
    [report],
  )
  const name = useSessionNames(useMemo(() => rows.flatMap(g => g.key ?? []), [rows]))
  const agents = useQuery(queries.agents).data
  const agentName = (id: string) => agents?.find(a => a.agent_id === id)?.name ?? id
  const columns: NumberColumn<Share>[] = [
    { id: 'name', label: words.group.session ?? '', cell: g => <Name agentName={agentName} name={name} of={g.key} /> },
    { id: 'cost', label: words.cost, cell: g => <Cost of={amountsOf(g)} /> },
    {
      id: 'at',
      label: words.lastActive,
      left: true,
      cell: ({ key }) => {
        const at = key === null ? null : name(key).at
        return <span className="text-soft">{at ? shortIn(at) : '–'}</span>
      },
    },
    { id: 'runs', label: words.runs, wide: true, cell: g => grouped(g.runs) },
    { id: 'tokens', label: words.tokens.title, wide: true, cell: g => <Count of={tokensOf(g.tokens)} /> },
  ]
  const notes = [
    report.groups.length > rows.length && words.firstOf(rows.length, report.groups.length),
    report.zone !== myZone() && words.timesIn(myZone()),
  ].filter(Boolean)
  return (
    <Section actions={<span className="text-soft text-xs">{notes.join(' · ')}</span>} title={words.sessions}>
      <NumberTable columns={columns} idOf={partId} label={words.sessions} rows={rows} />
    </Section>
  )
}

interface NameProps {
  of: string | null
  name: (key: string) => { name: string }
  agentName: (id: string) => string
}

/** A link to a session, with the face of its agent. */
function Name({ of: key, name, agentName }: NameProps) {
  if (key === null) return <span className="text-soft">{words.none.session}</span>
  const agent = agentOf(key)
  return (
    <TextLink
      className="flex min-w-0 items-center gap-1.5 text-accent hover:underline max-sm:w-36"
      href={sessionHref(canonical(key))}
      title={key}
    >
      <Face agent={agent} name={agentName(agent)} />
      <bdi className={nameClass}>{name(key).name}</bdi>
    </TextLink>
  )
}
