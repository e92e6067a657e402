import { memo, type ReactNode, useMemo } from 'react'
import { grouped, moment, unknown } from '../app/format'
import { sessions as sessionsWords } from '../texts/sessions'
import { Button } from '../ui/Button'
import { Partial } from '../ui/Views'
import { kindOf, type Segment, type Step, type StepKind, segmentsOf, toldInWords } from './steps'

const words = sessionsWords.strip

/** Colors and heights, so that neither is needed alone. */
const looks: Record<StepKind, { fill: string; ground: string; height: number }> = {
  said: { fill: 'fill-accent', ground: 'bg-accent', height: 20 },
  text: { fill: 'fill-active', ground: 'bg-active', height: 14 },
  tools: { fill: 'fill-idle', ground: 'bg-idle', height: 9 },
  thinking: { fill: 'fill-line-strong', ground: 'bg-line-strong', height: 5 },
  error: { fill: 'fill-danger', ground: 'bg-danger', height: 24 },
  note: { fill: 'fill-line-strong', ground: 'bg-line-strong', height: 3 },
}
const order: readonly StepKind[] = ['said', 'text', 'tools', 'thinking', 'error', 'note']
/** Maximum number of segments. */
const most = 240

interface Props {
  steps: readonly Step[]
  partial: boolean
  table: boolean
  onTable: (show: boolean) => void
  onGo: (index: number) => void
  /** Further actions. */
  more: ReactNode
}

/** An overview of the session: one segment per step, or per few steps. */
export const Overview = memo(function Overview({ steps, partial, table, onTable, onGo, more }: Props) {
  const segments = useMemo(() => segmentsOf(steps, most), [steps])
  const counts = useMemo(() => {
    const n = new Map<StepKind, number>()
    for (const kind of steps.map(kindOf)) n.set(kind, (n.get(kind) ?? 0) + 1)
    return n
  }, [steps])
  const there = order.filter(kind => counts.has(kind))
  const summary = there.map(kind => `${words.kinds[kind]} ${counts.get(kind)}`).join(', ')
  return (
    <section aria-label={words.label} className="shrink-0 border-line border-b px-3 py-1.5">
      {table ? (
        <StripTable onGo={onGo} segments={segments} steps={steps} />
      ) : (
        <Picture label={words.summary(summary)} onGo={onGo} segments={segments} />
      )}
      <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-1 text-soft text-xs">
        {there.map(kind => (
          <span key={kind} className="flex items-center gap-1">
            <span aria-hidden="true" className={`size-2 rounded-sm ${looks[kind].ground}`} />
            {words.kinds[kind]} {grouped(counts.get(kind) ?? 0)}
          </span>
        ))}
        <span className="ml-auto flex items-center gap-1">
          <Button icon={table ? 'sessions' : 'table'} look="quiet" onClick={() => onTable(!table)}>
            {table ? words.picture : words.table}
          </Button>
          {more}
        </span>
      </div>
      {partial && table && <Partial>{words.partial}</Partial>}
    </section>
  )
})

function Picture({ segments, label, onGo }: { segments: readonly Segment[]; label: string; onGo: Props['onGo'] }) {
  const width = 100 / Math.max(1, segments.length)
  return (
    // The table view has a button for each segment, for keyboard users.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <svg
      aria-label={label}
      className="h-6 w-full cursor-pointer"
      onClick={e => {
        const box = e.currentTarget.getBoundingClientRect()
        const at = Math.floor(((e.clientX - box.left) / box.width) * segments.length)
        const hit = segments[Math.max(0, Math.min(segments.length - 1, at))]
        if (hit) onGo(hit.from)
      }}
      preserveAspectRatio="none"
      role="img"
      viewBox="0 0 100 24"
    >
      {segments.map((s, i) => (
        <rect
          key={s.from}
          className={looks[s.kind].fill}
          height={looks[s.kind].height}
          width={segments.length > 120 ? width : width * 0.86}
          x={i * width}
          y={24 - looks[s.kind].height}
        />
      ))}
    </svg>
  )
}

function StripTable({
  segments,
  steps,
  onGo,
}: {
  segments: readonly Segment[]
  steps: readonly Step[]
  onGo: Props['onGo']
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable, so it must be focusable
    <section aria-label={words.table} className="max-h-56 overflow-y-auto" tabIndex={0}>
      <table className="w-full text-left text-xs">
        <thead className="sticky top-0 bg-panel text-soft">
          <tr>
            <th className="px-2 py-1 font-normal" scope="col">
              {words.what}
            </th>
            <th className="px-2 py-1 text-right font-normal" scope="col">
              {words.count}
            </th>
            <th className="px-2 py-1 font-normal" scope="col">
              {words.when}
            </th>
          </tr>
        </thead>
        <tbody>
          {segments.map(s => {
            const step = steps[s.from]
            const what = step?.kind === 'tools' && s.count === 1 ? toldInWords(step.calls) : words.kinds[s.kind]
            return (
              <tr key={s.from} className="border-line border-t">
                <td className="px-2">
                  <button
                    aria-label={words.go(what)}
                    className="min-h-7 text-left hover:underline"
                    onClick={() => onGo(s.from)}
                    type="button"
                  >
                    <bdi>{what}</bdi>
                  </button>
                </td>
                <td className="px-2 text-right">{s.count}</td>
                <td className="px-2">{step?.at ? moment(step.at) : unknown}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}
