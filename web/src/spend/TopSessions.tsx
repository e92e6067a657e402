import { useQueryClient } from '@tanstack/react-query'
import { spend } from '../texts/spend'
import { type NumberColumn, NumberTable } from '../ui/NumberTable'
import { Cost, Count, CsvButton, GroupName, Section, useNames } from './Bits'
import { tableOf } from './download'
import type { Ask } from './period'
import { partId } from './split'
import { amountsOf, classes, type Report, type Share } from './sums'

const words = spend
const most = 10

/** The sessions that cost most. The file has all of them. */
export function TopSessions({ report, ask }: { report: Report; ask: Ask }) {
  const cache = useQueryClient()
  const name = useNames('session')
  const rows = report.groups.filter(g => !g.rest).slice(0, most)
  const columns: NumberColumn<Share>[] = [
    {
      id: 'name',
      label: words.group.session ?? '',
      cell: g => <GroupName group="session" id={partId(g)} name={name(partId(g))} />,
    },
    { id: 'cost', label: words.cost, cell: g => <Cost of={amountsOf(g)} /> },
    { id: 'runs', label: words.runs, cell: g => g.runs.toLocaleString('en-US') },
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
