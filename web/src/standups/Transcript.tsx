import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import { clock } from '../app/time'
import { standups } from '../texts/standups'
import { Button } from '../ui/Button'
import { Clock } from '../ui/Clock'
import { AgentName } from '../ui/Face'
import { Badge } from '../ui/State'
import { dayText, Long, ReportMark } from './Bits'
import { conversation, type Line, type Said, type Standup } from './standup'
import type { NameOf } from './useAgentName'

const words = standups.transcript

interface Props {
  standup: Standup
  nameOf: NameOf
  scroller: RefObject<HTMLDivElement | null>
}

/** The transcript, in order. New lines are added at the end. */
export function Transcript({ standup, nameOf, scroller }: Props) {
  const said = useMemo(() => conversation(standup), [standup])
  const entries = useMemo(() => together(said), [said])
  const { end, below } = useBelow(scroller, said.length)
  const calls = (who: string) => (who === 'team' ? words.team : who === 'wardroom' ? words.wardroom : nameOf(who))
  if (said.length === 0) return <p className="text-soft">{words.empty}</p>
  return (
    <div>
      <h3 className="sr-only">{words.label}</h3>
      <ol aria-label={words.label} className="flex flex-col gap-3">
        {entries.map(([s, ...more]) => (
          <li key={s.line.seq} data-steady>
            {s.begins && (
              <p className="mb-3 flex items-center gap-3 text-soft text-xs">
                <span className="h-px grow bg-line" />
                {words.attempt(s.attempt)}
                <span className="h-px grow bg-line" />
              </p>
            )}
            <Entry calls={calls} facilitator={standup.facilitator} more={more} of={s} zone={standup.timezone} />
          </li>
        ))}
      </ol>
      <div ref={end} />
      {below > 0 && (
        <div className="no-print sticky bottom-3 flex justify-center">
          <Button icon="down" look="primary" onClick={() => end.current?.scrollIntoView({ block: 'end' })}>
            {words.newBelow(below)}
          </Button>
        </div>
      )}
    </div>
  )
}

/** Returns whether a line is a note of Wardroom that fits on the line of its time. */
const isShort = ({ line: l }: Said): boolean => l.kind === 'note' && l.from === 'wardroom' && !l.text.includes('\n')

/** Returns the lines, with Wardroom's notes of the same minute as one entry. */
function together(said: readonly Said[]): [Said, ...Said[]][] {
  const out: [Said, ...Said[]][] = []
  for (const s of said) {
    const last = out.at(-1)
    const joins = last && !s.begins && isShort(s) && isShort(last[0]) && minuteOf(last[0]) === minuteOf(s)
    if (joins) last.push(s)
    else out.push([s])
  }
  return out
}

const minuteOf = ({ line }: Said): string => clock(line.at, undefined)

/** Returns the text of a note as a sentence, with its day as elsewhere on the page. */
const noteOf = ({ line }: Said): string =>
  (line.text.charAt(0).toUpperCase() + line.text.slice(1)).replace(/(\d{4}-\d\d-\d\d) \([^)]+\)/, (_, date: string) =>
    dayText(date),
  )

/** Returns the number of new lines below the visible part. */
function useBelow(scroller: RefObject<HTMLDivElement | null>, count: number) {
  const end = useRef<HTMLDivElement>(null)
  const latest = useRef(count)
  const [seen, setSeen] = useState(count)
  useEffect(() => {
    latest.current = count
  }, [count])
  useEffect(() => {
    const mark = end.current
    if (!mark) return
    const watch = new IntersectionObserver(entries => entries.some(e => e.isIntersecting) && setSeen(latest.current), {
      root: scroller.current,
      rootMargin: '0px 0px 64px 0px',
    })
    watch.observe(mark)
    return () => watch.disconnect()
  }, [scroller])
  return { end, below: count - Math.max(0, seen) }
}

const grounds: Partial<Record<Line['kind'], string>> = {
  answer: 'border border-line',
  question: 'bg-panel',
  timeout: 'bg-danger-tint',
  failure: 'bg-danger-tint',
  error: 'bg-danger-tint',
  summary: 'bg-accent-tint',
}

interface EntryProps {
  of: Said
  /** The notes that follow at once. */
  more: readonly Said[]
  facilitator: string
  zone: string
  calls: (who: string) => string
}

function Entry({ of: s, more, facilitator, zone, calls }: EntryProps) {
  const { line: l, report } = s
  const isNote = l.kind === 'note'
  const short = isShort(s)
  // Questions hardly differ from day to day.
  const folds = l.kind === 'question' && l.text.trim().split('\n').length > 2
  const [folded, fold] = useState(folds)
  const theirs = !isNote && l.from !== facilitator && l.from !== 'wardroom'
  return (
    <div className={theirs ? 'md:ml-12' : ''}>
      <p className="mb-0.5 flex flex-wrap items-center gap-x-2 text-soft text-xs">
        <Clock at={l.at} zone={zone}>
          {clock(l.at, undefined, 'exact')}
        </Clock>
        {short ? (
          <bdi className="wrap-anywhere min-w-0">{[s, ...more].map(noteOf).join(' ')}</bdi>
        ) : l.from === 'wardroom' || isNote ? (
          <bdi className="font-medium text-ink">{calls(l.from)}</bdi>
        ) : (
          <AgentName className="font-medium text-ink" id={l.from} name={calls(l.from)} />
        )}
        {l.to !== 'team' && (
          <span>
            {words.to} <bdi>{calls(l.to)}</bdi>
          </span>
        )}
        {words.kinds[l.kind] && l.kind !== 'timeout' && <span>{words.kinds[l.kind]}</span>}
        {s.again && (
          <Badge icon="reload" tone="attention">
            {words.again}
          </Badge>
        )}
        {report && <ReportMark of={report.status} />}
        {report && report.claims.length > 0 && (
          <Badge icon="warning" tone="danger">
            {words.contradicted(report.claims.length)}
          </Badge>
        )}
        {report && report.omitted.length > 0 && <Badge tone="attention">{words.omitted(report.omitted.length)}</Badge>}
        {folds && (
          <Button
            aria-expanded={!folded}
            className="no-print h-6! pointer-coarse:h-10!"
            icon={folded ? 'right' : 'chevron'}
            look="quiet"
            onClick={() => fold(!folded)}
          >
            {folded ? words.whole : words.less}
          </Button>
        )}
      </p>
      {!short && (
        <div
          className={`rounded-md ${folded ? 'hidden' : ''} ${grounds[l.kind] ? `${grounds[l.kind]} px-3 py-2` : ''}`}
        >
          <Body line={l} />
        </div>
      )}
    </div>
  )
}

function Body({ line: l }: { line: Line }) {
  if (l.kind === 'answer' || l.kind === 'summary') return <Long text={l.text} />
  return (
    <p className={`wrap-anywhere whitespace-pre-line ${l.kind === 'note' ? 'text-soft' : ''}`}>
      <bdi>{l.text.trim()}</bdi>
    </p>
  )
}
