import type { ComponentProps } from 'react'

/** An on/off switch that takes effect at once. */
export function Switch({
  on,
  label,
  onChange,
  ...rest
}: { on: boolean; label: string; onChange: (on: boolean) => void } & Omit<
  ComponentProps<'button'>,
  'onChange' | 'children' | 'className' | 'role'
>) {
  return (
    <button
      {...rest}
      aria-checked={on}
      aria-label={label}
      className="inline-flex h-6 w-9 shrink-0 items-center disabled:opacity-50 pointer-coarse:h-9 pointer-coarse:w-11"
      onClick={() => onChange(!on)}
      role="switch"
      type="button"
    >
      <span
        className={`flex h-4 w-full items-center rounded-full border px-0.5 ${on ? 'justify-end border-accent bg-accent' : 'justify-start border-line-strong bg-raised'}`}
      >
        <span className={`size-2.5 rounded-full ${on ? 'bg-on-accent' : 'bg-line-strong'}`} />
      </span>
    </button>
  )
}
