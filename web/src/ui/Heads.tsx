/**
 * The column heads of a list on wide screens. `grid` is the class that lays out its rows. With `icons`, the first head is
 * over a name and the icon before it. The last `numbers` heads are aligned right.
 */
export function Heads({
  of,
  grid,
  icons = true,
  numbers = 0,
}: {
  of: readonly string[]
  grid: string
  icons?: boolean
  numbers?: number
}) {
  return (
    <p aria-hidden="true" className={`${grid} pb-1 text-soft text-xs max-sm:hidden`}>
      {of.map((head, i) => (
        <span
          className={`${icons && i === 0 ? 'col-span-2' : ''} ${i >= of.length - numbers ? 'text-right' : ''}`}
          key={head}
        >
          {head}
        </span>
      ))}
    </p>
  )
}
