import { Link } from '@tanstack/react-router'
import { money } from '../app/format'
import { leads, useMe } from '../app/queries'
import { texts } from '../texts'
import { standups } from '../texts/standups'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Face } from '../ui/Face'
import { Long, ReportMark, TaskLink } from './Bits'
import { toldBlockers } from './decisions'
import { Evidence } from './Evidence'
import type { Blocker, Report, Standup } from './standup'

const words = standups

interface Props {
  standup: Standup
  report: Report
  name: string
  unfolded: boolean
  onFold: () => void
  onFile: () => void
}

/** A participant's report, or why there is none, and whether it matches the board. */
export function ReportOf({ standup, report: r, name, unfolded, onFold, onFile }: Props) {
  const me = useMe().data
  // The server accepts reports until the standup ends: from the agent itself, the owner, and admins.
  const files = standup.status === 'running' && (leads(me) || me?.agent_id === r.agent_id)
  return (
    <section
      aria-labelledby={`report-${r.agent_id}`}
      className="flex flex-col gap-2 rounded-md border border-line px-3 py-2"
      data-steady
      id={`of-${r.agent_id}`}
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="flex min-w-0 items-center gap-1.5">
          <Face agent={r.agent_id} name={name} />
          <h4 className="min-w-0 truncate font-semibold" id={`report-${r.agent_id}`}>
            <bdi>{name}</bdi>
          </h4>
        </span>
        <ReportMark of={r.status} over={standup.status !== 'running'} />
        <span className="text-soft text-xs">
          {r.status === 'answered' && !r.submitted_by && words.facts.cost(money(r.cost_usd))}
          {r.submitted_by && <bdi>{words.submittedBy(r.submitted_by)}</bdi>}
          {r.answered_at && r.status === 'answered' && (
            <span className="no-print">
              {' · '}
              <Age at={r.answered_at} /> {words.facts.ago}
            </span>
          )}
        </span>
        {files && (
          <Button className="no-print ml-auto" icon="pencil" onClick={onFile}>
            {r.status === 'answered' ? words.fileAnother : words.file}
            <span className="sr-only"> ({name})</span>
          </Button>
        )}
      </div>
      {r.status === 'answered' ? (
        <Said blockers={standup.blockers} report={r} />
      ) : (
        <Unsaid report={r} standup={standup} />
      )}
      <Evidence name={name} onFold={onFold} report={r} unfolded={unfolded} />
    </section>
  )
}

function Said({ report: r, blockers }: { report: Report; blockers: readonly Blocker[] }) {
  const s = words.sections
  // A blocker is told once, above the reports.
  const told = toldBlockers(r.blockers ?? '', blockers)
  const parts = [
    { title: s.yesterday, text: r.yesterday, nothing: words.nothingSaid },
    { title: s.today, text: r.today, nothing: words.nothingSaid },
    { title: s.blockers, text: r.blockers, nothing: words.noneNamed },
  ]
  return (
    <>
      <div className="report-parts grid gap-x-6 gap-y-3 md:grid-cols-3">
        {parts.map(p => (
          <div key={p.title} className="min-w-0">
            <h5 className="mb-1 font-medium text-soft text-xs">{p.title}</h5>
            {p.text === r.blockers && told ? (
              <p>
                {words.above}{' '}
                {told.map((key, i) => (
                  <span key={key}>
                    {i > 0 && ', '}
                    <TaskLink of={key} />
                  </span>
                ))}
              </p>
            ) : p.text?.trim() ? (
              <Long text={p.text} />
            ) : (
              <p className="text-soft">{p.nothing}</p>
            )}
          </div>
        ))}
      </div>
      {r.other?.trim() && (
        <div>
          <h5 className="mb-1 font-medium text-soft text-xs">{s.other}</h5>
          <Long text={r.other} />
        </div>
      )}
    </>
  )
}

/** Why there is no report. The error of a failed run is in the transcript. */
function Unsaid({ standup, report: r }: { standup: Standup; report: Report }) {
  const t = words.reportText
  // The status badge already says so.
  if (r.status === 'pending' || (r.status === 'asked' && standup.status !== 'running')) return null
  if (r.status === 'asked') {
    return (
      <p>
        {t.asked} {r.asked_at && <Age at={r.asked_at} />}.
      </p>
    )
  }
  if (r.status === 'missing') {
    return (
      <p>
        {t.missing}{' '}
        <Link className="no-print text-accent underline" to="/settings">
          {texts.app.places.settings}
        </Link>
      </p>
    )
  }
  const why =
    r.status === 'failed'
      ? standup.transcript.findLast(l => l.kind === 'failure' && l.from === r.agent_id)?.text
      : undefined
  return (
    <p className="wrap-anywhere text-danger">
      {why ? <bdi>{why}</bdi> : r.status === 'timed_out' ? t.timed_out : t.failed}
    </p>
  )
}
