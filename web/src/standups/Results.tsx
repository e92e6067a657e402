import { useDrawn } from '../app/idle'
import { standups } from '../texts/standups'
import { Icon } from '../ui/Icon'
import { ActionItems } from './ActionItems'
import { Linked, Long, Part } from './Bits'
import { Blockers } from './Blockers'
import { NeedsDecision, SettledEscalations, useDecisions } from './Decisions'
import { Differences } from './Differences'
import { blockedSince, withTitles } from './decisions'
import { ReportOf } from './Report'
import { Schedule } from './Schedule'
import type { Go, StandupSearch } from './search'
import { headline, type Standup } from './standup'
import type { NameOf } from './useAgentName'
import { useTitles } from './useTitles'

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
  const titles = useTitles(standup)
  return (
    <div className="grid grid-cols-1 items-start gap-x-8 gap-y-6 print:flex print:flex-col print:items-stretch xl:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="flex flex-col gap-5">
        <NeedsDecision
          decisions={decisions.open}
          nameOf={nameOf}
          sinceOf={task => blockedSince(standup, task)}
          titles={titles}
        />
        <Headline standup={standup} titles={titles} />
        <Blockers blockers={decisions.blockers} nameOf={nameOf} standup={standup} titles={titles} />
        <SettledEscalations decisions={decisions.settled} />
      </div>
      <div className="flex flex-col gap-5">
        <ActionItems nameOf={nameOf} standup={standup} />
        {drawn && (
          <>
            <Differences nameOf={nameOf} standup={standup} />
            <Schedule team={standup.team} />
          </>
        )}
      </div>
      {drawn && (
        <section className="flex flex-col gap-2 xl:col-span-2">
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

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Returns the sentences of a text. A paragraph full of titles and keys is hard to read. */
const sentencesOf = (text: string): string[] => [
  ...new Set([...segmenter.segment(text)].map(s => s.segment.trim()).filter(Boolean)),
]

/** Returns whether a text is one short paragraph without markup. */
const isPlain = (text: string): boolean => text.length <= 1000 && !/[\n*_`#<>[\]]/.test(text)

/** The facilitator's summary; if it is missing, the error and the collected facts. */
function Headline({ standup: s, titles }: { standup: Standup; titles: ReadonlyMap<string, string> }) {
  if (s.summary?.trim()) {
    const { head, rest } = headline(s.summary)
    return (
      <section className="flex flex-col gap-1" data-steady>
        <h3 className="sr-only">{words.headline}</h3>
        {head && (
          <p className="wrap-anywhere font-medium text-lg">
            <Linked text={head} titles={titles} />
          </p>
        )}
        {rest === '' ? null : isPlain(rest) ? (
          <ul className="flex list-disc flex-col gap-0.5 pl-5">
            {sentencesOf(rest).map(s => (
              <li key={s} className="wrap-anywhere">
                <Linked text={s} titles={titles} />
              </li>
            ))}
          </ul>
        ) : (
          <Long text={withTitles(rest, titles)} />
        )}
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
