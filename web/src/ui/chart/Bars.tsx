import { type KeyboardEvent, useId, useMemo, useRef, useState } from 'react'
import { type Look, Part, Swatch, Textures } from './looks'
import { labelStep, part, reach, stack, ticks } from './scale'
import { useWidth } from './useWidth'

export interface ChartSeries {
  id: string
  label: string
  look: Look
  /** One or two letters to write on its parts. */
  mark?: string | undefined
}

export interface Bar {
  id: string
  /** The axis label, and the full name. */
  short: string
  long: string
  /** Says that the bar is still growing. */
  running?: string | undefined
  /** The value of each series. */
  parts: readonly bigint[]
  /** The formatted values. Empty if the bar lacks that series. */
  texts: readonly string[]
  /** The formatted total, which may say more than a number. */
  total: string
  /** Why the bar is incomplete. Shows a mark above it. */
  flag?: string | undefined
}

interface Props {
  label: string
  help: string
  series: readonly ChartSeries[]
  bars: readonly Bar[]
  /** Formats a value for the axis. */
  format: (value: bigint) => string
  /** A value to compare the bars with, such as a limit. */
  line?: { value: bigint; label: string } | undefined
}

const height = 250
const top = 18
const bottom = 36

/** A stacked bar chart. The pointer or arrow keys select a bar, whose values appear beside it. */
export function Bars({ label, help, series, bars, format, line }: Props) {
  const [box, width] = useWidth<HTMLDivElement>()
  const [at, setAt] = useState<{ focus: number | null; pointer: number | null }>({ focus: null, pointer: null })
  const shown = at.pointer ?? at.focus
  const current = shown === null ? undefined : bars[shown]
  const describe = useId()
  const scale = useMemo(() => {
    const { least, most } = reach([...bars.map(b => b.parts), [line?.value ?? 0n]])
    const marks = ticks(least, most)
    const left = 10 + 6.5 * Math.max(...marks.map(m => format(m).length))
    const plot = Math.max(1, width - left - 4)
    return { marks, left, plot, slot: plot / Math.max(1, bars.length) }
  }, [bars, width, format, line?.value])
  return (
    <div ref={box} className="relative min-w-0">
      {width > 0 && (
        <Drawing
          bars={bars}
          current={shown}
          describedBy={describe}
          format={format}
          label={label}
          line={line}
          onFocus={focus => setAt(was => ({ ...was, focus }))}
          onPointer={pointer => setAt(was => ({ ...was, pointer }))}
          scale={scale}
          series={series}
          width={width}
        />
      )}
      <p className="sr-only" id={describe}>
        {help} {line?.label}
      </p>
      {current && shown !== null && (
        <Card bar={current} middle={scale.left + (shown + 0.5) * scale.slot} series={series} width={width} />
      )}
    </div>
  )
}

/** The values of a bar, on the side where there is more room. Screen readers read the bar's name instead. */
function Card({
  bar,
  middle,
  width,
  series,
}: {
  bar: Bar
  middle: number
  width: number
  series: readonly ChartSeries[]
}) {
  const away = 34
  const side = middle > width / 2 ? { right: width - middle + away } : { left: middle + away }
  return (
    <div
      aria-hidden="true"
      className="hairline pointer-events-none absolute top-2 z-10 flex flex-col gap-1 rounded-md bg-raised p-2 text-xs shadow-raised"
      data-readout=""
      style={{ ...side, maxWidth: Math.max(middle, width - middle) - away }}
    >
      <p className="text-soft">{bar.long}</p>
      <p className="font-semibold text-base">{bar.total}</p>
      {series
        .map((s, i) => ({ ...s, text: bar.texts[i] }))
        .filter(s => s.text)
        .reverse()
        .map(s => (
          <p key={s.id} className="flex min-w-0 items-center gap-1.5">
            <Swatch look={s.look} />
            <bdi className="min-w-0 grow truncate">{s.label}</bdi>
            <span className="pl-2 tabular-nums">{s.text}</span>
          </p>
        ))}
      {bar.flag && <p className="text-attention">{bar.flag}</p>}
    </div>
  )
}

interface DrawingProps extends Pick<Props, 'label' | 'series' | 'bars' | 'format' | 'line'> {
  width: number
  scale: { marks: readonly bigint[]; left: number; plot: number; slot: number }
  current: number | null
  describedBy: string
  onFocus: (bar: number | null) => void
  onPointer: (bar: number | null) => void
}

function Drawing({
  width,
  scale,
  label,
  series,
  bars,
  format,
  line,
  current,
  describedBy,
  onFocus,
  onPointer,
}: DrawingProps) {
  const id = useId()
  const svg = useRef<SVGSVGElement>(null)
  const { marks, left, plot, slot } = scale
  const y = (v: bigint) => top + (1 - part(v, marks[0] ?? 0n, marks.at(-1) ?? 0n)) * (height - top - bottom)
  const step = labelStep(bars.length, plot, 8 + 6.5 * Math.max(0, ...bars.map(b => b.short.length)))
  // The labels begin at the first bar, or so that the growing one gets its label.
  const labeled = bars.at(-1)?.running ? (bars.length - 1) % step : 0
  // The bar in the tab order: the selected one, or the last.
  const entry = current ?? bars.length - 1
  const go = (e: KeyboardEvent<SVGGElement>, i: number) => {
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: bars.length - 1 }[e.key]
    if (e.key === 'Escape') {
      onPointer(null)
      onFocus(null)
    }
    if (to === undefined) return
    e.preventDefault()
    onPointer(null)
    const next = Math.max(0, Math.min(bars.length - 1, to))
    svg.current?.querySelectorAll<SVGGElement>('[data-bar]')[next]?.focus()
  }
  return (
    <svg
      ref={svg}
      aria-describedby={describedBy}
      aria-label={label}
      className="block"
      height={height}
      onPointerLeave={e => e.pointerType === 'mouse' && onPointer(null)}
      role="group"
      width={width}
    >
      <Textures id={id} looks={series.map(s => s.look)} />
      <Scale format={format} left={left} marks={marks} width={width} y={y} />
      {bars.map((bar, i) => (
        // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: read as an image; the keys only move between bars
        <g
          key={bar.id}
          aria-label={nameOf(bar, series)}
          className="chart-bar outline-none"
          data-bar={bar.id}
          onBlur={() => onFocus(null)}
          onFocus={() => onFocus(i)}
          onKeyDown={e => go(e, i)}
          onPointerDown={() => onPointer(i)}
          onPointerEnter={() => onPointer(i)}
          role="img"
          tabIndex={i === entry ? 0 : -1}
        >
          <rect
            className={i === current ? 'chart-slot fill-hover' : 'chart-slot fill-transparent'}
            height={height - top - bottom}
            width={slot}
            x={left + i * slot}
            y={top}
          />
          <Column bar={bar} id={id} series={series} slot={slot} x={left + i * slot} y={y} />
          {i % step === labeled && (
            <Label middle={left + (i + 0.5) * slot} texts={[bar.short, bar.running]} width={width} />
          )}
        </g>
      ))}
      {line && <Line label={line.label} width={width} x={left} y={y(line.value)} />}
    </svg>
  )
}

/** A dashed line across the bars. Screen readers read its label in the description of the chart. */
function Line({ label, x, width, y }: { label: string; x: number; width: number; y: number }) {
  return (
    <svg aria-hidden="true" className="pointer-events-none" data-line="" focusable="false">
      <line className="stroke-attention" strokeDasharray="6 4" x1={x} x2={width} y1={y} y2={y} />
      <text className="fill-attention text-xs" textAnchor="end" x={width - 4} y={y - 5}>
        {label}
      </text>
    </svg>
  )
}

/** The lines below a bar, kept within the chart. */
function Label({ middle, texts, width }: { middle: number; texts: readonly (string | undefined)[]; width: number }) {
  return texts.map(
    (text, line) =>
      text && (
        <text
          key={text}
          className="fill-soft text-xs"
          textAnchor="middle"
          x={Math.min(middle, width - 3.25 * text.length)}
          y={height - 20 + 14 * line}
        >
          {text}
        </text>
      ),
  )
}

interface ScaleProps {
  marks: readonly bigint[]
  left: number
  width: number
  y: (v: bigint) => number
  format: (v: bigint) => string
}

/** Grid lines with their values. Hidden from screen readers, which read each bar. */
function Scale({ marks, left, width, y, format }: ScaleProps) {
  return (
    <svg aria-hidden="true" focusable="false">
      {marks.map(mark => (
        <g key={String(mark)}>
          <line
            className={mark === 0n ? 'stroke-line-strong' : 'stroke-line'}
            shapeRendering="crispEdges"
            x1={left}
            x2={width}
            y1={y(mark)}
            y2={y(mark)}
          />
          <text className="fill-soft text-xs" dominantBaseline="middle" textAnchor="end" x={left - 6} y={y(mark)}>
            {format(mark)}
          </text>
        </g>
      ))}
    </svg>
  )
}

interface ColumnProps {
  bar: Bar
  series: readonly ChartSeries[]
  id: string
  x: number
  slot: number
  y: (v: bigint) => number
}

function Column({ bar, series, id, x, slot, y }: ColumnProps) {
  const wide = Math.max(1, Math.min(56, slot * (slot < 8 ? 0.9 : 0.75)))
  const stacked = stack(bar.parts)
  const highest = stacked.reduce((most, s) => (s.to > most ? s.to : most), 0n)
  const middle = x + slot / 2
  const above = [bar.flag ? '?' : '', bar.total.length * 6.5 < slot ? bar.total : ''].filter(Boolean).join(' ')
  return (
    <>
      {stacked.map(({ from, to }, i) => {
        const of = series[i]
        if (from === to || !of) return null
        const edge = Math.min(y(from), y(to))
        const size = Math.abs(y(from) - y(to))
        return (
          <g key={of.id}>
            <Part
              // At least 1 px, so that every value is visible.
              height={Math.max(1, size)}
              look={of.look}
              pattern={`${id}-${i}`}
              strokeWidth={size > 3 ? 0.75 : 0}
              width={wide}
              x={middle - wide / 2}
              y={size < 1 ? edge - (1 - size) : edge}
            />
            {of.mark && size >= 15 && wide >= 24 && (
              <text
                className="fill-on-hue font-semibold text-[10px] contrast-more:hidden forced-colors:hidden"
                dominantBaseline="central"
                textAnchor="middle"
                x={middle}
                y={edge + size / 2}
              >
                {of.mark}
              </text>
            )}
          </g>
        )
      })}
      <text
        className={`text-xs ${bar.flag ? 'fill-attention font-semibold' : 'fill-soft'}`}
        textAnchor="middle"
        x={middle}
        y={y(highest) - 5}
      >
        {above}
      </text>
    </>
  )
}

/** Returns the accessible name of a bar: its name, total, and parts. */
function nameOf(bar: Bar, series: readonly ChartSeries[]): string {
  const parts = series.flatMap((s, i) => {
    const text = bar.texts[i]
    return text ? [`${s.label} ${text}`] : []
  })
  return [`${bar.long}: ${bar.total}`, bar.flag, parts.length > 1 ? parts.join(', ') : ''].filter(Boolean).join('. ')
}
