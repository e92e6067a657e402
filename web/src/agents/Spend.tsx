import { dayIn } from '../app/days'
import { cost, moment, tokens } from '../app/format'
import { soFar, useActiveOf } from '../spend/activeRuns'
import { Headroom } from '../spend/Headroom'
import { keptUntil } from '../spend/ledger'
import { shortDay } from '../spend/split'
import { agents as agentTexts } from '../texts/agents'
import type { Spend as SpendOf } from './agent'
import { CostBars } from './Bits'

const words = agentTexts.page
const number = 'py-1 pl-3 text-right whitespace-nowrap'

/** The agent's cost by day and by period. */
export function Spend({ id, spend }: { id: string; spend: SpendOf }) {
  const { ledger_begins_at: begins, zone } = spend
  const active = useActiveOf(id)
  const from = spend.last_30_days.from
  const since = keptUntil({ ...spend, from, to: new Date().toISOString() })
  return (
    <div className="flex flex-col gap-2">
      <Headroom agent={id} />
      <CostBars id={id} spend={spend} texts />
      <table className="w-full">
        <thead className="text-left text-soft text-xs">
          <tr>
            <th className="font-normal" scope="col">
              <span className="sr-only">{words.period}</span>
            </th>
            {[words.cost, words.runs, words.tokens].map(name => (
              <th key={name} className={`${number} font-normal`} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(['today', 'last_7_days', 'last_30_days'] as const).map(p => (
            <tr key={p} className="border-line border-t">
              <th className="py-1 text-left font-normal" scope="row">
                {words.periods[p]}
              </th>
              <td className={`${number} font-medium`}>{cost(soFar(active, spend[p]))}</td>
              <td className={number}>{spend[p].runs}</td>
              <td className={number}>{tokens(spend[p].tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {begins && Date.parse(begins) > Date.parse(from) && (
        <p className="text-soft text-xs">{words.begins(shortDay(dayIn(Date.parse(begins), zone)))}</p>
      )}
      {since && <p className="text-soft text-xs">{words.least(moment(since, zone))}</p>}
    </div>
  )
}
