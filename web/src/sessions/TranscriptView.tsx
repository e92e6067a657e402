import { useQueryClient } from '@tanstack/react-query'
import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { Problem } from '../api/problem'
import { useKeys } from '../app/keys'
import { texts } from '../texts'
import { sessions as sessionsWords } from '../texts/sessions'
import { Button } from '../ui/Button'
import { say, sayFailed } from '../ui/toast'
import { Empty } from '../ui/Views'
import { useAgentNames } from './Bits'
import { copyText } from './copy'
import { FindBar } from './FindBar'
import { wantedOf } from './find'
import { inOrder } from './inOrder'
import type { Outbox } from './outbox'
import { readOlder } from './queries'
import { Between, StepView } from './StepView'
import { asText, type Step, stepsOf, turnsOf } from './steps'
import { Timeline } from './Timeline'
import type { Transcript } from './transcript'
import { FindText, useFind } from './useFind'

const words = sessionsWords.transcript
const keys = texts.tasks.keys
/** This close to the end counts as at the end, in px. */
const nearEnd = 60
/** Older messages load when the view is within this many rows of the first one. */
const nearBegin = 15

interface Props {
  transcript: Transcript
  /** The session key, or the archive ID. */
  name: string
  title: string
  /** The agent's ID, or empty. */
  agent: string
  live: boolean
  /** The messages that the user sends; absent for an archived session. */
  outbox?: Outbox
  /** What an empty live session says. */
  empty?: string
  at: {
    step: string | undefined
    onStep: (step: string | undefined) => void
  }
}

/** Loads older messages page by page. */
function useOlder(name: string) {
  const cache = useQueryClient()
  const [state, set] = useState<{ reading: boolean; error: unknown }>({ reading: false, error: null })
  const read = useCallback(async () => {
    set({ reading: true, error: null })
    try {
      await readOlder(cache, name)
      set({ reading: false, error: null })
    } catch (error) {
      set({ reading: false, error })
    }
  }, [cache, name])
  return { ...state, read }
}

/** Returns the step of an expanded item: the step itself, or the one that contains the call. */
const stepOf = (id: string): string => id.split('/')[0] ?? id

/** Estimates the height of a step before it is measured. */
function guess(step: Step | undefined): number {
  if (!step || step.prompt || step.kind === 'tools' || step.kind === 'thinking' || step.kind === 'note') return 32
  return 44 + 20 * Math.min(60, Math.ceil(step.text.length / 110))
}

const noSends: Outbox['list'] = []

/** A virtualized transcript. New steps are added at the end, older ones at the start. */
export function TranscriptView({ transcript, name, title, agent, live, outbox, empty, at }: Props) {
  const sends = outbox?.list ?? noSends
  const steps = useMemo(() => stepsOf(inOrder(transcript, sends)), [transcript, sends])
  const turns = useMemo(() => turnsOf(steps), [steps])
  const scroller = useRef<HTMLDivElement>(null)
  const [atEnd, setAtEnd] = useState(true)
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(at.step ? [at.step, stepOf(at.step)] : []))
  const older = useOlder(name)
  const speaker = useAgentNames().get(agent) ?? agent
  const list = useVirtualizer({
    count: steps.length,
    getScrollElement: () => scroller.current,
    estimateSize: i => guess(steps[i]),
    getItemKey: i => steps[i]?.id ?? i,
    overscan: 6,
    paddingStart: 44,
    paddingEnd: 12,
    // Keeps the reading position when older steps load, and stays at the end when new ones arrive.
    anchorTo: 'end',
    followOnAppend: live,
    scrollEndThreshold: nearEnd,
    onChange: v => setAtEnd(v.isAtEnd(nearEnd)),
  })
  const settled = useBegin(list, steps, at.step, live)
  const first = list.getVirtualItems()[0]?.index ?? 0
  const expand = useCallback((ids: readonly string[]) => setOpen(was => new Set([...was, ...ids])), [])
  const find = useFind({ steps, list, scroller, expand })
  const near = first < nearBegin || (find.open && find.query.trim() !== '')
  const wanted = settled && transcript.older !== null && near && !older.reading && older.error === null
  const { read } = older
  useEffect(() => {
    if (wanted) void read()
  }, [wanted, read])
  const waiting = useWaiting(steps, atEnd)
  const mine = sends.at(-1)?.id
  useEffect(() => {
    if (mine) list.scrollToEnd()
  }, [mine, list])
  const toggle = useCallback(
    (id: string) => {
      const show = !open.has(id)
      setOpen(was => {
        const next = new Set(was)
        if (!next.delete(id)) next.add(id)
        return next
      })
      at.onStep(show ? id : undefined)
    },
    [open, at.onStep],
  )
  useStepKeys(list, steps, toggle)
  // Stable callbacks, so that scrolling doesn't render the overview and visible steps again.
  const toStep = useCallback((i: number) => list.scrollToIndex(i, { align: 'start' }), [list])
  const partial = transcript.older !== null
  const { show } = find
  const more = useMemo(
    () => (
      <>
        <Button icon="search" look="quiet" onClick={show}>
          {sessionsWords.find.open}
        </Button>
        <CopyButton partial={partial} steps={steps} title={title} />
      </>
    ),
    [partial, steps, title, show],
  )
  if (steps.length === 0 && transcript.older === null) {
    return (
      <div className="min-h-0 grow">
        <Empty icon="comment" title={words.empty}>
          {live && (empty ?? words.emptyText)}
        </Empty>
      </div>
    )
  }
  return (
    <FindText value={find.open ? wantedOf(find.query) : ''}>
      <Timeline agent={agent} more={more} onGo={toStep} steps={steps} />
      {find.open && <FindBar of={find} reading={partial && older.error === null} />}
      <div className="relative flex min-h-0 grow flex-col">
        <section
          ref={scroller}
          aria-label={words.label}
          className="min-h-0 grow overflow-y-auto"
          data-scroll="own"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable, so it must be focusable
          tabIndex={0}
        >
          <div className="relative" role="list" style={{ height: list.getTotalSize() }}>
            <Beginning error={older.error} more={transcript.older !== null} read={read} reading={older.reading} />
            {list.getVirtualItems().map(v => {
              const step = steps[v.index]
              return (
                step && (
                  <div
                    key={v.key}
                    ref={list.measureElement}
                    aria-posinset={v.index + 1}
                    aria-setsize={transcript.older === null ? steps.length : -1}
                    className="absolute inset-x-0 top-0 outline-offset-[-2px]"
                    data-index={v.index}
                    role="listitem"
                    style={{ transform: `translateY(${v.start}px)` }}
                    tabIndex={-1}
                  >
                    <Between at={step.at} before={steps[v.index - 1]?.at ?? null} />
                    <StepView
                      agent={agent}
                      first={
                        v.index === 0 ||
                        (steps[v.index - 1]?.kind === 'said') !== (step.kind === 'said') ||
                        step.kind === 'said'
                      }
                      isOpen={open}
                      onToggle={toggle}
                      outbox={outbox}
                      speaker={speaker}
                      step={step}
                      turn={turns.get(step.id)}
                    />
                  </div>
                )
              )
            })}
          </div>
        </section>
        {live && !atEnd && (
          <div className="pointer-events-none absolute inset-x-0 bottom-2 flex justify-center">
            <Button className="pointer-events-auto" icon="down" onClick={() => list.scrollToEnd()}>
              {waiting > 0 ? words.newRows(waiting) : words.toEnd}
            </Button>
          </div>
        )}
      </div>
    </FindText>
  )
}

type List = Virtualizer<HTMLDivElement, Element>

/**
 * Scrolls to the step named in the URL, or to the end of a live session; an archived one opens at its start. Returns true
 * when done.
 */
function useBegin(list: List, steps: readonly Step[], named: string | undefined, live: boolean): boolean {
  const [settled, setSettled] = useState(false)
  const begun = useRef(false)
  useLayoutEffect(() => {
    if (begun.current || steps.length === 0) return
    begun.current = true
    const at = named ? steps.findIndex(s => s.id === stepOf(named)) : -1
    if (at >= 0) list.scrollToIndex(at, { align: 'center' })
    else if (live) list.scrollToEnd()
  })
  const any = steps.length > 0
  useEffect(() => {
    if (!any) return
    // Wait for the rows to be measured; until then the first one seems visible.
    const timer = setTimeout(() => setSettled(true), 200)
    return () => clearTimeout(timer)
  }, [any])
  return settled
}

/** Returns the number of steps that arrived while the user reads further up. */
function useWaiting(steps: readonly Step[], atEnd: boolean): number {
  const [seen, setSeen] = useState<string | undefined>(undefined)
  const last = steps.at(-1)?.id
  if (atEnd && seen !== last) setSeen(last)
  return useMemo(() => {
    if (atEnd || seen === undefined) return 0
    const at = steps.findLastIndex(s => s.id === seen)
    return at < 0 ? 0 : steps.length - 1 - at
  }, [steps, seen, atEnd])
}

/** Keyboard navigation: j and k move, o expands. */
function useStepKeys(list: List, steps: readonly Step[], toggle: (id: string) => void): void {
  const current = useRef<string | null>(null)
  const go = (by: number) => {
    const was = steps.findIndex(s => s.id === current.current)
    const from = was < 0 ? (list.range?.startIndex ?? 0) : was + by
    const to = Math.max(0, Math.min(steps.length - 1, from))
    current.current = steps[to]?.id ?? null
    list.scrollToIndex(to)
    requestAnimationFrame(() =>
      list.scrollElement?.querySelector<HTMLElement>(`[data-index="${to}"]`)?.focus({ preventScroll: true }),
    )
  }
  useKeys([
    { keys: 'j', label: keys.next, run: () => go(1) },
    { keys: 'k', label: keys.previous, run: () => go(-1) },
    { keys: 'o', label: keys.open, run: () => current.current && toggle(current.current) },
  ])
}

function Beginning({
  more,
  reading,
  error,
  read,
}: {
  more: boolean
  reading: boolean
  error: unknown
  read: () => Promise<void>
}) {
  return (
    <div
      aria-live="polite"
      className="flex h-11 max-w-page items-center justify-center gap-2 text-soft text-xs"
      role="listitem"
    >
      {error ? (
        <>
          <span className="text-danger">{words.olderFailed}</span>
          <Button icon="reload" onClick={() => void read()}>
            {texts.ui.tryAgain}
          </Button>
        </>
      ) : reading ? (
        words.readingOlder
      ) : more ? (
        <Button icon="up" look="quiet" onClick={() => void read()}>
          {words.older}
        </Button>
      ) : (
        words.begin
      )}
    </div>
  )
}

function CopyButton({ steps, title, partial }: { steps: readonly Step[]; title: string; partial: boolean }) {
  const copy = async () => {
    if (await copyText(asText(title, steps))) say(partial ? words.copiedPart(steps.length) : words.copied(steps.length))
    else sayFailed(new Problem({ code: 'not_copied', title: words.notCopied }))
  }
  return (
    <Button icon="copy" look="quiet" onClick={() => void copy()}>
      <span className="max-sm:sr-only">{words.copy}</span>
    </Button>
  )
}
