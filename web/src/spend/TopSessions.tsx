import { useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { grouped } from '../app/format'
import { shortIn } from '../schedules/times'
import { canonical } from '../sessions/liveSessions'
import { type Called, useSessionNames } from '../sessions/useSessionNames'
import { spend } from '../texts/spend'
import { type NumberColumn, NumberTable } from '../ui/NumberTable'
import { sessionHref, TextLink } from '../ui/TextLink'
import { Cost, Count, CsvButton, Section } from './Bits'
import { tableOf } from './download'
import type { Ask } from './period'
import { partId } from './split'
import { amountsOf, classes, type Report, type Share } from './sums'

const words = spend
const most = 10

/** The most expensive sessions. The CSV file has all of them. */
export function TopSessions({ report, ask }: { report: Report; ask: Ask }) {
  const cache = useQueryClient()
  const rows = useMemo(() => report.groups.filter(g => !g.rest).slice(0, most), [report])
  const keys = useMemo(() => rows.flatMap(g => g.key ?? []), [rows])
  const name = useSessionNames(keys)
  const columns: NumberColumn<Share>[] = [
    {
      id: 'name',
      label: words.group.session ?? '',
      cell: g => <Name of={g.key} name={name} />,
    },
    { id: 'cost', label: words.cost, cell: g => <Cost of={amountsOf(g)} /> },
    { id: 'runs', label: words.runs, cell: g => grouped(g.runs) },
    ...classes.map(c => ({ id: c, label: words.tokens[c], cell: (g: Share) => <Count of={g.tokens[c]} /> })),
  ]
  return (
    <Section
      actions={
        <>
          {report.groups.length > rows.length && (
            <span className="text-soft text-xs">{words.firstOf(rows.length, report.groups.length)}</span>
          )}
          <CsvButton
            label={words.allSessions}
            name={`spend-by-session-${ask.from}-${ask.to}.csv`}
            text={() => tableOf(cache, ask, 'session')}
          />
        </>
      }
      title={words.sessions}
    >
      <NumberTable columns={columns} idOf={partId} label={words.sessions} rows={rows} />
    </Section>
  )
}

/** A link to a session; job runs also show their time. */
function Name({ of: key, name }: { of: string | null; name: (key: string) => Called }) {
  if (key === null) return <span className="text-soft">{words.none.session}</span>
  const called = name(key)
  return (
    <TextLink href={sessionHref(canonical(key))} title={key}>
      <bdi>{called.name}</bdi>
      {called.at && <span className="block text-soft sm:inline"> {shortIn(called.at)}</span>}
    </TextLink>
  )
}
