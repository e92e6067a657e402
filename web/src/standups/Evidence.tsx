import type { ReactNode } from 'react'
import { cost, money } from '../app/format'
import { Gaps, GradeMark } from '../receipts/Receipt'
import { standups } from '../texts/standups'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Badge } from '../ui/State'
import { Long, TaskLink } from './Bits'
import type { Report } from './standup'

const words = standups.evidence

type Runs = NonNullable<Report['evidence']>['runs']

/** Returns the number of runs, failed runs, and their cost. */
export function runsOf(r: Runs): string[] {
  if (r === null) return [words.runsUnknown]
  const own = r.source === 'standups'
  return [
    ...(r.count > 0
      ? [
          (own ? words.standupRuns : words.runs)(r.count),
          words.runsCost(
            own ? money(r.cost_usd) : cost({ cost_usd: r.cost_usd, unpriced_runs: r.unpriced ?? 0, runs: r.count }),
          ),
        ]
      : []),
    ...(r.failed > 0 ? [(own ? words.standupRunsFailed : words.runsFailed)(r.failed)] : []),
  ]
}

interface Props {
  report: Report
  name: string
  unfolded: boolean
  onFold: () => void
}

/** An agent's recorded activity, with contradictions to its report first. */
export function Evidence({ report: r, name, unfolded, onFold }: Props) {
  const e = r.evidence
  if (!e) return r.status === 'pending' ? null : <p className="text-soft text-xs">{words.none}</p>
  const counts = [
    e.finished.length > 0 && words.finished(e.finished.length),
    e.moved.length > 0 && words.moved(e.moved.length),
    e.blocked.length > 0 && words.blocked(e.blocked.length),
    ...runsOf(e.runs),
  ].filter(c => typeof c === 'string')
  const agrees = r.status === 'answered' && r.claims.length === 0 && r.omitted.length === 0
  return (
    <div className="flex flex-col gap-2">
      {r.claims.length > 0 && (
        <ul className="flex flex-col gap-1">
          {r.claims.map(c => (
            <li key={`${c.task} ${c.says}`} className="flex flex-wrap items-center gap-2">
              <Badge icon="warning" tone="danger">
                {words.contradicts(c.task, words.says[c.says], words.board[c.board] ?? c.board)}
              </Badge>
              <TaskLink of={c.task} />
            </li>
          ))}
        </ul>
      )}
      <div className="flex flex-wrap items-center gap-1.5">
        {r.omitted.length > 0 && <Badge tone="attention">{words.omitted(r.omitted.length)}</Badge>}
        {agrees && (
          <Badge icon="check" tone="active">
            {words.agrees}
          </Badge>
        )}
        <span className="text-soft text-xs">{counts.join(' · ')}</span>
        <Button
          aria-expanded={unfolded}
          className="no-print h-6! pointer-coarse:h-9!"
          icon={unfolded ? 'up' : 'down'}
          look="quiet"
          onClick={onFold}
        >
          {words.show}
          <span className="sr-only"> ({name})</span>
        </Button>
      </div>
      {unfolded && <Known name={name} report={r} />}
    </div>
  )
}

type Items = Report['omitted']

function Known({ report: r, name }: { report: Report; name: string }) {
  const e = r.evidence
  if (!e) return null
  const heads = words.heads
  const lists: [string, Items][] = [
    [heads.omitted, r.omitted],
    [heads.finished, e.finished],
    [heads.moved, e.moved],
    [heads.created, e.created],
    [heads.blocked, e.blocked],
  ]
  return (
    <section aria-label={words.label(name)} className="flex flex-col gap-3 rounded-md bg-panel px-3 py-2">
      {lists.map(([title, items]) => items.length > 0 && <ItemList key={title} items={items} title={title} />)}
      {e.task_reports.length > 0 && (
        <Titled title={heads.taskReports}>
          <ul className="flex flex-col gap-1">
            {e.task_reports.map(t => (
              <li key={`${t.task} ${t.at} ${t.kind}`} className="wrap-anywhere">
                <TaskLink of={t.task} /> {words.kinds[t.kind]}
                {t.text && (
                  <>
                    : <bdi>{t.text}</bdi>
                  </>
                )}{' '}
                <Age at={t.at} className="text-soft text-xs" say="ago" />
                {t.receipt && !t.receipt.pending && (
                  <>
                    {' '}
                    <GradeMark of={t.receipt.grade} />
                    <Gaps of={t.receipt.gaps.map(text => ({ text }))} />
                  </>
                )}
              </li>
            ))}
          </ul>
        </Titled>
      )}
      {e.promised?.trim() && (
        <Titled title={heads.promised}>
          <Long text={e.promised} />
        </Titled>
      )}
      <p className="no-print text-soft text-xs">
        {[
          words.open(e.open),
          e.sessions === null ? words.sessionsUnknown : e.sessions > 0 && words.sessions(e.sessions),
        ]
          .filter(Boolean)
          .join(' · ')}
        {' · '}
        {words.since} <Age at={e.since} /> {standups.facts.ago}
      </p>
    </section>
  )
}

const Titled = ({ title, children }: { title: string; children: ReactNode }) => (
  <div>
    <h5 className="mb-1 font-medium text-soft text-xs">{title}</h5>
    {children}
  </div>
)

const ItemList = ({ title, items }: { title: string; items: Items }) => (
  <Titled title={title}>
    <ul className="flex flex-col gap-1">
      {items.map(i => (
        <li key={i.key} className="wrap-anywhere">
          <TaskLink of={i.key} /> <bdi>{i.title}</bdi>
          {i.reason && (
            <span className="text-soft">
              {' '}
              – <bdi>{i.reason}</bdi>
            </span>
          )}
        </li>
      ))}
    </ul>
  </Titled>
)
