import { leads, useMe } from '../app/queries'
import { useStop } from '../sessions/Stop'
import { partsOf } from '../sessions/session'
import { agents as agentTexts } from '../texts/agents'
import { Button } from '../ui/Button'
import { TextLink } from '../ui/TextLink'
import { type AgentDetails, titleOf } from './agent'
import { Work } from './Work'

const words = agentTexts.page

/** The active runs, each with a stop button; without one, the last result. */
export function Now({ page }: { page: AgentDetails }) {
  const me = useMe().data
  const [askStop, question] = useStop()
  if (page.sessions === null) return <p className="text-soft">{agentTexts.sessionsUnknown}</p>
  const active = page.sessions.filter(s => s.run)
  const last = page.sessions[0]
  if (active.length === 0) {
    return (
      <>
        {last ? <Work of={last} /> : <p className="text-soft">{agentTexts.neverRan}</p>}
        {question}
      </>
    )
  }
  return (
    <>
      <ul className="flex flex-col divide-y divide-line *:py-2 *:first:pt-0 *:last:pb-0">
        {active.map(s => (
          <li key={s.key} className="flex items-start gap-3">
            <div className="min-w-0 grow">
              <Work of={s} />
            </div>
            {leads(me) && (
              <Button
                aria-label={words.stopLabel(titleOf(s).name)}
                look="danger"
                onClick={() => askStop({ key: s.key, label: s.label, agent_id: page.agent_id })}
              >
                {words.stop}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {question}
    </>
  )
}

/** The latest sessions that `Now` does not show. A job has one row, with the number of its earlier runs. */
export function Sessions({ page }: { page: AgentDetails }) {
  if (page.sessions === null) return <p className="text-soft">{agentTexts.sessionsUnknown}</p>
  const rest = page.sessions.filter((s, i) => !s.run && i > 0)
  if (rest.length === 0) return <p className="text-soft">{words.noSessions}</p>
  return (
    <ul className="flex flex-col divide-y divide-line *:py-2 *:first:pt-0 *:last:pb-0">
      {rest.map(s => (
        <li key={s.key}>
          <Work
            clamp="line-clamp-1"
            more={
              s.earlier > 0 && (
                <TextLink
                  className="shrink-0 text-soft text-xs hover:underline"
                  href={`/sessions?agent=${encodeURIComponent(page.agent_id)}&q=${encodeURIComponent(Object.values(partsOf(s.key))[0] ?? '')}`}
                >
                  {words.earlier(s.earlier)}
                </TextLink>
              )
            }
            of={s}
          />
        </li>
      ))}
    </ul>
  )
}
