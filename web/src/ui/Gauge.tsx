/** A bar with its number, which can be above 100%. Unknown values have no bar. */
export function Gauge({ value, of, label }: { value: number | null; of: number | null; label: string }) {
  if (value === null || of === null || of <= 0) return <span className="text-soft text-xs">unknown</span>
  const part = value / of
  const tone = part >= 1 ? 'fill-danger' : part >= 0.8 ? 'fill-attention' : 'fill-line-strong'
  return (
    <span className="inline-flex items-center gap-1.5">
      <svg
        aria-label={`${label}: ${Math.round(part * 100)}%`}
        className="h-1.5 w-14 rounded-sm"
        preserveAspectRatio="none"
        role="img"
        viewBox="0 0 100 6"
      >
        <rect className="fill-hover" height="6" width="100" />
        <rect className={tone} height="6" width={Math.min(1, part) * 100} />
      </svg>
      <span aria-hidden="true" className="text-soft text-xs">
        {Math.round(part * 100)}%
      </span>
    </span>
  )
}

/** A small line chart without axes. Missing values are gaps. */
export function Sparkline({
  values,
  label,
  className = 'h-6 w-24',
  stroke = 'stroke-accent',
}: {
  values: readonly (number | null)[]
  label: string
  className?: string
  /** The class of the line. */
  stroke?: string
}) {
  const most = Math.max(1e-9, ...values.map(v => v ?? 0))
  const step = 100 / Math.max(1, values.length - 1)
  let pen = 'M'
  const path = values
    .map((v, i) => {
      if (v === null) {
        pen = 'M'
        return ''
      }
      const point = `${pen}${(i * step).toFixed(1)} ${(23 - (v / most) * 22).toFixed(1)}`
      pen = 'L'
      return point
    })
    .join('')
  return (
    <svg aria-label={label} className={className} preserveAspectRatio="none" role="img" viewBox="0 0 100 24">
      <path className={stroke} d={path} fill="none" strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
    </svg>
  )
}
