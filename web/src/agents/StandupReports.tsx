import { useQuery } from '@tanstack/react-query'
import { day } from '../app/format'
import { executive } from '../standups/queries'
import { agents as agentTexts } from '../texts/agents'
import { Age } from '../ui/Age'
import { Markdown } from '../ui/Markdown'
import { standupHref, TextLink } from '../ui/TextLink'
import type { AgentDetails } from './agent'
import { AnswerMark } from './Bits'
import { teamsQuery, useLed } from './queries'

const words = agentTexts.page

/** The agent's reports in the latest standups. The newest one is expanded. */
export function StandupReports({ id, said }: { id: string; said: AgentDetails['standups'] }) {
  const led = useLed(id)
  const teams = useQuery(teamsQuery).data
  const leads = led.length > 0 && <p className="text-soft">{words.leads(led.join(', '))}</p>
  if (said.length === 0) return leads || <p className="text-soft">{words.noStandups}</p>
  return (
    <div className="flex flex-col">
      {said.map((s, i) => (
        <details key={s.standup_id} className="border-line border-b py-1.5 last:border-b-0" open={i === 0}>
          <summary className="cursor-pointer">
            <span className="inline-flex flex-wrap items-center gap-x-2">
              {day(`${s.date}T12:00:00`)}
              <AnswerMark of={s.status} />
              {s.team !== executive && (
                <bdi className="text-soft text-xs">{teams?.find(t => t.key === s.team)?.name ?? s.team}</bdi>
              )}
              {s.at && <Age at={s.at} className="text-soft text-xs" say="ago" />}
            </span>
          </summary>
          <div className="flex flex-col gap-2 pt-2 pl-4">
            {s.status === 'answered' &&
              (['yesterday', 'today', 'blockers'] as const).map(part => (
                <div key={part}>
                  <h4 className="font-medium text-soft text-xs">{words[part]}</h4>
                  {s[part] ? <Markdown text={s[part]} /> : <p className="text-soft">{words.saidNothing}</p>}
                </div>
              ))}
            <p>
              <TextLink href={standupHref(s.standup_id)}>{words.openStandup}</TextLink>
            </p>
          </div>
        </details>
      ))}
    </div>
  )
}
