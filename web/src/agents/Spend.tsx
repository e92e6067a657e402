import { useQueries } from '@tanstack/react-query'
import type { Schemas } from '../api/client'
import { useTicking } from '../app/clock'
import { dayIn } from '../app/days'
import { cost, moment, tokens, unknown } from '../app/format'
import { keptUntil } from '../spend/ledger'
import { agents as agentTexts } from '../texts/agents'
import { fillOf } from '../ui/chart/looks'
import { hueOf } from '../ui/hue'
import { bars, daysUntil, shareOf } from './agent'
import { dayQuery } from './queries'

const words = agentTexts.page
const number = 'py-1 pl-3 text-right whitespace-nowrap'

/** The agent's cost by period and by day. The bars repeat the numbers beside them. */
export function Spend({ id, spend }: { id: string; spend: Schemas['AgentSpend'] }) {
  return (
    <div className="flex flex-col gap-3">
      <table className="w-full">
        <thead className="text-left text-soft text-xs">
          <tr>
            <th className="py-1 font-normal" scope="col">
              {words.period}
            </th>
            <th className={`${number} font-normal`} scope="col">
              {words.cost}
            </th>
            <th className={`${number} font-normal`} scope="col">
              {words.runs}
            </th>
            <th className={`${number} font-normal`} scope="col">
              {words.tokens}
            </th>
          </tr>
        </thead>
        <tbody>
          {(['today', 'last_7_days', 'last_30_days'] as const).map(p => (
            <tr key={p} className="border-line border-t">
              <th className="py-1 text-left font-normal" scope="row">
                {words.periods[p]}
              </th>
              <td className={`${number} font-medium`}>{cost(spend[p])}</td>
              <td className={number}>{spend[p].runs}</td>
              <td className={number}>{tokens(spend[p].tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Days from={spend.last_30_days.from} id={id} zone={spend.zone} />
    </div>
  )
}

function Days({ id, zone, from }: { id: string; zone: string; from: string }) {
  const last = useTicking(now => dayIn(now, zone))
  const days = daysUntil(last, 7)
  const asked = useQueries({ queries: days.map(d => dayQuery(d, zone)) })
  const rows = days.map((day, i) => ({ day, cost: shareOf(asked[i]?.data, id) }))
  const lengths = bars(rows)
  const report = asked.find(a => a.data)?.data
  const begins = report?.ledger_begins_at
  const since = report && keptUntil({ ...report, from })
  return (
    <>
      {begins && Date.parse(begins) > Date.parse(from) && (
        <p className="text-soft text-xs">{words.begins(moment(begins, zone))}</p>
      )}
      {since && <p className="text-soft text-xs">{words.least(moment(since, zone))}</p>}
      <table className="w-full">
        <caption className="pb-1 text-left text-soft text-xs">
          {words.byDay}. {words.daysIn(zone)}
        </caption>
        <thead className="sr-only">
          <tr>
            <th scope="col">{words.day}</th>
            <th scope="col">{words.cost}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((r, i) => (
            <tr key={r.day}>
              <th className="w-24 py-0.5 text-left font-normal text-soft" scope="row">
                {r.day}
              </th>
              <td className="py-0.5">
                <span className="flex items-center gap-2">
                  <svg aria-hidden="true" className="h-3 min-w-8 grow" preserveAspectRatio="none" viewBox="0 0 100 12">
                    <rect className="fill-hover" height="1" width="100" y="11" />
                    <rect className={fillOf(hueOf(id))} height="12" width={lengths[i] ?? 0} />
                  </svg>
                  <span className="w-28 text-right">{r.cost ? cost(r.cost) : asked[i]?.isPending ? '…' : unknown}</span>
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}
