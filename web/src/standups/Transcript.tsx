import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import { moment, moments } from '../app/format'
import { standups } from '../texts/standups'
import { Button } from '../ui/Button'
import { AgentName } from '../ui/Face'
import { Badge } from '../ui/State'
import { Long, ReportMark } from './Bits'
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
  const { end, below } = useBelow(scroller, said.length)
  const calls = (who: string) => (who === 'team' ? words.team : who === 'wardroom' ? words.wardroom : nameOf(who))
  if (said.length === 0) return <p className="text-soft">{words.empty}</p>
  return (
    <>
      <h3 className="sr-only">{words.label}</h3>
      <ol aria-label={words.label} className="flex flex-col gap-3">
        {said.map(s => (
          <li key={s.line.seq} data-steady>
            {s.begins && (
              <p className="mb-3 flex items-center gap-3 text-soft text-xs">
                <span className="h-px grow bg-line" />
                {words.attempt(s.attempt)}
                <span className="h-px grow bg-line" />
              </p>
            )}
            <Entry calls={calls} facilitator={standup.facilitator} of={s} zone={standup.timezone} />
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
    </>
  )
}

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
  facilitator: string
  zone: string
  calls: (who: string) => string
}

function Entry({ of: s, facilitator, zone, calls }: EntryProps) {
  const { line: l, report } = s
  const time = moment(l.at, zone).slice(-8)
  const isNote = l.kind === 'note'
  const theirs = !isNote && l.from !== facilitator && l.from !== 'wardroom'
  return (
    <div className={theirs ? 'md:ml-12' : isNote ? '' : 'md:mr-12'}>
      <p className="mb-0.5 flex flex-wrap items-center gap-x-2 text-soft text-xs">
        <time dateTime={l.at} title={moments(l.at, zone)}>
          {time}
        </time>
        {l.from === 'wardroom' || isNote ? (
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
      </p>
      <div className={`rounded-md ${grounds[l.kind] ? `${grounds[l.kind]} px-3 py-2` : ''}`}>
        <Body line={l} />
      </div>
    </div>
  )
}

function Body({ line: l }: { line: Line }) {
  if (l.kind === 'question') return <Question text={l.text} />
  if (l.kind === 'answer' || l.kind === 'summary') return <Long text={l.text} />
  return (
    <p className={`wrap-anywhere whitespace-pre-line ${l.kind === 'note' ? 'text-soft' : ''}`}>
      <bdi>{l.text}</bdi>
    </p>
  )
}

/** A question, collapsed to its first line, because questions hardly differ from day to day. */
function Question({ text }: { text: string }) {
  const [whole, setWhole] = useState(false)
  const lines = text.trim().split('\n')
  if (lines.length < 3) return <Long text={text} />
  return (
    <>
      {whole ? (
        <p className="wrap-anywhere whitespace-pre-line">
          <bdi>{text.trim()}</bdi>
        </p>
      ) : (
        <p className="wrap-anywhere">
          <bdi>{lines[0]}</bdi>
        </p>
      )}
      <Button
        aria-expanded={whole}
        className="no-print mt-1"
        icon={whole ? 'up' : 'down'}
        look="quiet"
        onClick={() => setWhole(!whole)}
      >
        {whole ? words.less : words.whole(lines.length - 1)}
      </Button>
    </>
  )
}
