import { type KeyboardEvent, useId, useMemo, useRef, useState } from 'react'
import { type Look, Swatch, Textures } from './looks'
import { labelStep, part, reach, stack, ticks } from './scale'
import { useWidth } from './useWidth'

export interface ChartSeries {
  id: string
  label: string
  look: Look
}

export interface Bar {
  id: string
  /** The axis label, and the full name. */
  short: string
  long: string
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
  /** The formatted total of each series, for the legend while no bar is selected. */
  totals: readonly string[]
  /** The name and total of the whole chart, for the legend while no bar is selected. */
  whole: { name: string; total: string }
  flagged: string
}

const height = 220
const top = 14
const bottom = 22

/** A stacked bar chart. The pointer or arrow keys select a bar, whose values appear in the legend. */
export function Bars({ label, help, series, bars, format, totals, whole, flagged }: Props) {
  const [box, width] = useWidth<HTMLDivElement>()
  const [at, setAt] = useState<{ focus: number | null; pointer: number | null }>({ focus: null, pointer: null })
  const shown = at.pointer ?? at.focus
  const current = shown === null ? undefined : bars[shown]
  const describe = useId()
  return (
    <div ref={box} className="min-w-0">
      {width > 0 && (
        <Drawing
          bars={bars}
          current={shown}
          describedBy={describe}
          format={format}
          label={label}
          onFocus={focus => setAt(was => ({ ...was, focus }))}
          onPointer={pointer => setAt(was => ({ ...was, pointer }))}
          series={series}
          width={width}
        />
      )}
      <p className="sr-only" id={describe}>
        {help}
      </p>
      <div aria-hidden="true" className="flex flex-wrap items-baseline gap-x-3 pt-1 text-sm">
        <span className="font-medium">{current ? current.long : whole.name}</span>
        <span data-readout="">{current ? current.total : whole.total}</span>
        {current?.flag && <span className="text-attention text-xs">{current.flag}</span>}
      </div>
      <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,13rem),1fr))] gap-x-4 gap-y-0.5 pt-1 text-xs">
        {series.map((s, i) => (
          <li key={s.id} className="flex min-w-0 items-center gap-1.5">
            <Swatch look={s.look} />
            <bdi className="min-w-0 truncate text-soft" title={s.label}>
              {s.label}
            </bdi>
            <span className="whitespace-nowrap">{(current ? current.texts[i] : totals[i]) || '–'}</span>
          </li>
        ))}
        {bars.some(b => b.flag) && (
          <li className="flex min-w-0 items-center gap-1.5 text-attention">
            <span aria-hidden="true" className="w-3.5 text-center font-semibold">
              ?
            </span>
            {flagged}
          </li>
        )}
      </ul>
    </div>
  )
}

interface DrawingProps extends Pick<Props, 'label' | 'series' | 'bars' | 'format'> {
  width: number
  current: number | null
  describedBy: string
  onFocus: (bar: number | null) => void
  onPointer: (bar: number | null) => void
}

function Drawing({ width, label, series, bars, format, current, describedBy, onFocus, onPointer }: DrawingProps) {
  const id = useId()
  const svg = useRef<SVGSVGElement>(null)
  const scale = useMemo(() => {
    const { least, most } = reach(bars.map(b => b.parts))
    const marks = ticks(least, most)
    return { marks, low: marks[0] ?? 0n, high: marks.at(-1) ?? 0n }
  }, [bars])
  const left = 10 + 6.5 * Math.max(...scale.marks.map(m => format(m).length))
  const plot = Math.max(1, width - left - 4)
  const slot = plot / Math.max(1, bars.length)
  const y = (v: bigint) => top + (1 - part(v, scale.low, scale.high)) * (height - top - bottom)
  const step = labelStep(bars.length, plot, 8 + 6.5 * Math.max(0, ...bars.map(b => b.short.length)))
  // The bar in the tab order: the selected one, or the last.
  const entry = current ?? bars.length - 1
  const go = (e: KeyboardEvent<SVGGElement>, i: number) => {
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: bars.length - 1 }[e.key]
    if (e.key === 'Escape') onPointer(null)
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
      <Scale format={format} left={left} marks={scale.marks} width={width} y={y} />
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
          {i % step === 0 && (
            <text
              className="fill-soft text-xs"
              textAnchor="middle"
              x={Math.min(left + (i + 0.5) * slot, width - 3.25 * bar.short.length)}
              y={height - 6}
            >
              {bar.short}
            </text>
          )}
        </g>
      ))}
    </svg>
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
  return (
    <>
      {stacked.map(({ from, to }, i) => {
        if (from === to) return null
        const edge = Math.min(y(from), y(to))
        const size = Math.abs(y(from) - y(to))
        return (
          <rect
            key={series[i]?.id}
            className="stroke-ground"
            fill={`url(#${id}-${i})`}
            // At least 1 px, so that every value is visible.
            height={Math.max(1, size)}
            strokeWidth={size > 3 ? 0.75 : 0}
            width={wide}
            x={x + (slot - wide) / 2}
            y={size < 1 ? edge - (1 - size) : edge}
          />
        )
      })}
      {bar.flag && (
        <text className="fill-attention font-semibold text-xs" textAnchor="middle" x={x + slot / 2} y={y(highest) - 3}>
          ?
        </text>
      )}
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
