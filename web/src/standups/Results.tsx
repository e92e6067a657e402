import { useDrawn } from '../app/idle'
import { standups } from '../texts/standups'
import { Icon } from '../ui/Icon'
import { ActionItems } from './ActionItems'
import { Long, Part } from './Bits'
import { Blockers } from './Blockers'
import { NeedsDecision, SettledEscalations, useDecisions } from './Decisions'
import { titlesOf, withTitles } from './decisions'
import { ReportOf } from './Report'
import type { Go, StandupSearch } from './search'
import { headline, type Standup } from './standup'
import type { NameOf } from './useAgentName'

const words = standups

interface Props {
  standup: Standup
  search: StandupSearch
  nameOf: NameOf
  go: Go
}

/** The results of a standup, most important first, then the reports. */
export function Results({ standup, search, nameOf, go }: Props) {
  const drawn = useDrawn() // the reports are further down, so they render later
  const unfolded = new Set(search.open?.split(','))
  const fold = (agent: string) => {
    const next = new Set(unfolded)
    if (!next.delete(agent)) next.add(agent)
    go({ open: [...next].join(',') || undefined }, true)
  }
  const decisions = useDecisions(standup)
  return (
    <div className="flex flex-col gap-5">
      <Headline standup={standup} />
      <NeedsDecision decisions={decisions.open} nameOf={nameOf} />
      <Blockers blockers={decisions.blockers} nameOf={nameOf} standup={standup} />
      <ActionItems nameOf={nameOf} standup={standup} />
      <SettledEscalations decisions={decisions.settled} />
      {drawn && (
        <section className="flex flex-col gap-2">
          <h3 className="font-semibold text-base">{words.reports}</h3>
          {standup.reports.map(r => (
            <ReportOf
              key={r.agent_id}
              name={nameOf(r.agent_id)}
              onFile={() => go({ file: r.agent_id })}
              onFold={() => fold(r.agent_id)}
              report={r}
              standup={standup}
              unfolded={unfolded.has(r.agent_id)}
            />
          ))}
        </section>
      )}
    </div>
  )
}

/** The facilitator's summary; if it is missing, the error and the collected facts. */
function Headline({ standup: s }: { standup: Standup }) {
  if (s.summary?.trim()) {
    const { head, rest } = headline(s.summary)
    const titles = titlesOf(s)
    return (
      <section className="flex flex-col gap-1" data-steady>
        <h3 className="sr-only">{words.headline}</h3>
        {head && (
          <p className="wrap-anywhere font-medium text-lg">
            <bdi>{withTitles(head, titles)}</bdi>
          </p>
        )}
        {rest && <Long text={withTitles(rest, titles)} />}
      </section>
    )
  }
  if (s.status === 'running') return <p className="text-soft">{words.summaryComes}</p>
  return (
    <>
      {s.error && (
        <section className="flex gap-2 rounded-md bg-danger-tint px-3 py-2" data-steady>
          <Icon className="mt-px text-danger" name="error" />
          <div className="wrap-anywhere min-w-0">
            <h3 className="font-semibold text-danger">{words.failed}</h3>
            <p>
              <bdi>{s.error.detail}</bdi> <span className="key text-soft">{s.error.code}</span>
            </p>
            <p className="text-soft">{words.kept}</p>
          </div>
        </section>
      )}
      {s.digest?.trim() && (
        <Part title={words.digest}>
          <Long text={s.digest} />
        </Part>
      )}
    </>
  )
}
