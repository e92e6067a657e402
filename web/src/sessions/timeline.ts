import { dayIn } from '../app/days'
import { day } from '../app/format'
import { endOf, isFailed, type Step, type StepKind } from './steps'

/** One step of the timeline, or several that are too short to be drawn apart. Positions are parts of the width. */
export interface Bar {
  /** Index of the first step, and the number of steps. */
  from: number
  count: number
  kind: StepKind
  x: number
  width: number
}

/** A long time without activity, drawn shorter than it was. */
export interface Pause {
  x: number
  width: number
  ms: number
}

export interface Tick {
  x: number
  label: string
}

/** Something that failed: a tool call, or the run. */
export interface Fault {
  x: number
  /** Index of the step. */
  step: number
}

export interface Timeline {
  bars: Bar[]
  faults: Fault[]
  pauses: Pause[]
  ticks: Tick[]
}

/** Step kinds by rising priority. A bar of several steps shows the kind with the highest priority. */
const loudness: readonly StepKind[] = ['note', 'error', 'thinking', 'text', 'tools', 'said']

const minute = 60_000
/** An agent that wrote nothing for longer than this did not work all the time. */
const idleAfter = 10 * minute
/** The least width of a bar, and the width of a pause, as parts of the time that is drawn to scale. */
const leastBar = 1 / 200
const pauseWidth = 0.04
/** The part of the width that all pauses together may take. */
const mostPauses = 0.3
/** The least distance of two labels, as a part of the width. */
const labelGap = 0.085

/** Maximum number of pauses that are drawn. */
const mostShown = 40
/** Faults closer than this are drawn as one. */
const leastFault = 1 / 500

/** The time between two pauses. */
interface Stretch {
  from: number
  to: number
  x: number
  width: number
}

/** A stretch of time: a step, or the time before it in which nothing happened. */
interface Piece {
  step: number | null
  from: number
  to: number
  size: number
}

/** Splits the time into steps and the idle time between them. A step begins when the one before it ended. */
function piecesOf(steps: readonly Step[]): Piece[] {
  const pieces: Piece[] = []
  let now = Number.NaN
  for (const [i, s] of steps.entries()) {
    const end = endOf(s)
    const at = Number.isFinite(end) ? Math.max(end, Number.isNaN(now) ? end : now) : now
    const gap = Number.isNaN(now) || Number.isNaN(at) ? 0 : at - now
    const own = s.kind === 'tools' && s.at ? Math.min(gap, at - Math.min(Date.parse(s.at), at)) : 0
    const idle = s.kind === 'said' || gap - own > idleAfter ? gap - own : 0
    if (idle > 0) pieces.push({ step: null, from: at - gap, to: at - gap + idle, size: idle })
    pieces.push({ step: i, from: at - gap + idle, to: at, size: gap - idle })
    now = at
  }
  return pieces
}

/** Gives each piece its size: time to scale, long pauses compressed, and short steps still visible. */
function scaled(pieces: Piece[]): { all: number; isPause: (p: Piece) => boolean } {
  const busy = pieces.reduce((sum, p) => sum + (p.step === null ? 0 : p.size), 0)
  const long = Math.max(minute, busy * 0.2)
  const isPause = (p: Piece) => p.step === null && p.to - p.from > long
  const toScale = pieces.reduce((sum, p) => sum + (isPause(p) ? 0 : p.size), 0) || pieces.length
  const pauses = pieces.filter(isPause).length
  const wide = toScale * Math.min(pauseWidth, mostPauses / Math.max(1, pauses))
  const least = Math.max(toScale * leastBar, toScale / Math.max(200, pieces.length * 2))
  for (const p of pieces) p.size = isPause(p) ? wide : p.step === null ? p.size : Math.max(p.size, least)
  return { all: pieces.reduce((sum, p) => sum + p.size, 0), isPause }
}

/** Places the steps on an axis of time, in at most `most` bars, and each fault at its time. */
export function timelineOf(steps: readonly Step[], most: number): Timeline {
  const pieces = piecesOf(steps)
  const { all, isPause } = scaled(pieces)
  const shown = new Set(
    pieces
      .filter(isPause)
      .sort((a, b) => b.to - b.from - (a.to - a.from))
      .slice(0, mostShown),
  )
  const line: Timeline = { bars: [], faults: [], pauses: [], ticks: [] }
  const stretches: Stretch[] = []
  let x = 0
  let apart = true
  let fresh = true
  for (const p of pieces) {
    const width = p.size / all
    if (isPause(p)) {
      if (shown.has(p)) line.pauses.push({ x, width, ms: p.to - p.from })
      apart ||= shown.has(p)
      fresh = true
    } else {
      const stretch = stretches.at(-1)
      if (!stretch || fresh) stretches.push({ from: p.from, to: p.to, x, width })
      else Object.assign(stretch, { to: p.to, width: x + width - stretch.x })
      fresh = false
    }
    const step = p.step === null ? undefined : steps[p.step]
    if (step) {
      addBar(
        line.bars,
        { from: p.step ?? 0, count: 1, kind: step.kind, x, width },
        apart || steps.length <= most,
        1 / most,
      )
      addFaults(line.faults, step, p, x, width)
      apart = false
    }
    x += width
  }
  return { ...line, ticks: ticksOf(stretches) }
}

/** Adds the faults of a step, each at the end of its call. Faults at one place are one. */
function addFaults(faults: Fault[], s: Step, p: Piece, x: number, width: number): void {
  const step = p.step ?? 0
  const at = s.calls.filter(isFailed).map(c => {
    const part = (Date.parse(c.ended_at ?? c.at ?? '') - p.from) / (p.to - p.from)
    return x + width * (part >= 0 && part <= 1 ? part : 1)
  })
  for (const place of s.kind === 'error' ? [x + width] : at)
    if (place - (faults.at(-1)?.x ?? -1) > leastFault) faults.push({ x: place, step })
}

/** Adds a bar, or makes the last one longer if it is too short to be drawn apart. */
function addBar(bars: Bar[], bar: Bar, apart: boolean, least: number): void {
  const last = bars.at(-1)
  if (!last || apart || last.width >= least) {
    bars.push(bar)
    return
  }
  last.count++
  last.width = bar.x + bar.width - last.x
  if (loudness.indexOf(bar.kind) > loudness.indexOf(last.kind)) last.kind = bar.kind
}

const clock = (seconds: boolean) =>
  new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', ...(seconds ? { second: '2-digit' } : {}) })
const clocks = { plain: clock(false), seconds: clock(true) }
const rounds = [5_000, 15_000, 30_000, ...[1, 2, 5, 10, 15, 30, 60, 180, 360, 720, 1440].map(n => n * minute)]

/** Labels the start of each stretch between pauses, and round times within it. A new day shows its date. */
function ticksOf(stretches: readonly Stretch[]): Tick[] {
  const busy = stretches.reduce((sum, s) => sum + s.to - s.from, 0)
  const round = rounds.find(r => busy / r <= 9) ?? 1440 * minute
  const ticks: Tick[] = []
  let today = ''
  const add = (at: number, x: number, exact: boolean) => {
    const last = ticks.at(-1)
    if (Number.isNaN(at) || (last && x - last.x < labelGap) || x > 1 - labelGap / 2) return
    const on = dayIn(at, undefined)
    const time = (round < minute && exact ? clocks.seconds : clocks.plain).format(at)
    ticks.push({ x, label: on === today ? time : `${day(new Date(at).toISOString())} ${clocks.plain.format(at)}` })
    today = on
  }
  for (const s of stretches) {
    add(s.from, s.x, false)
    const zone = new Date(s.from).getTimezoneOffset() * minute
    const first = Math.ceil((s.from - zone) / round) * round + zone
    for (let at = first; at < s.to; at += round) add(at, s.x + ((at - s.from) / (s.to - s.from)) * s.width, true)
  }
  return ticks
}
