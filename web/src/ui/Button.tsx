import type { ComponentProps, ReactNode } from 'react'
import { Icon, type IconName } from './Icon'
import { say } from './toast'

const looks = {
  plain: 'hairline bg-raised text-ink hover:bg-hover',
  primary: 'border border-accent bg-accent text-on-accent hover:opacity-90',
  danger: 'hairline bg-raised text-danger hover:bg-danger-tint',
  alarm: 'border border-danger bg-danger text-on-accent hover:opacity-90',
  quiet: 'border border-transparent text-soft hover:bg-hover hover:text-ink',
} as const

/** Button styles for other elements, such as links. */
export function buttonClass(look: keyof typeof looks = 'plain', more = ''): string {
  return `inline-flex h-8 min-w-8 shrink-0 select-none items-center justify-center gap-1.5 rounded-md px-2.5 text-sm whitespace-nowrap disabled:opacity-50 pointer-coarse:h-10 pointer-coarse:min-w-10 ${looks[look]} ${more}`
}

interface Props extends Omit<ComponentProps<'button'>, 'className'> {
  look?: keyof typeof looks
  icon?: IconName
  busy?: boolean | undefined
  /** Why it can't be pressed now. It keeps its focus, and pressing it says why. */
  not?: string | null
  className?: string
  children: ReactNode
}

/**
 * A button. While `busy` it keeps its focus and ignores clicks. It also ignores the second click of a double click,
 * which may hit something that just moved under the pointer.
 */
export function Button({ look = 'plain', icon, busy = false, not, className = '', children, onClick, ...rest }: Props) {
  return (
    <button
      type="button"
      {...rest}
      {...(not ? { title: not } : {})}
      aria-busy={busy || undefined}
      aria-disabled={busy || Boolean(not) || undefined}
      className={buttonClass(look, `${busy || not ? 'opacity-60' : ''} ${className}`)}
      onClick={e => {
        if (busy || not || e.detail > 1) e.preventDefault()
        else onClick?.(e)
        if (not) say(not)
      }}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A button with only an icon. The label is its accessible name and tooltip. */
export function IconButton({
  label,
  icon,
  look = 'quiet',
  className = '',
  ...rest
}: Omit<ComponentProps<'button'>, 'children' | 'className'> & {
  label: string
  icon: IconName
  look?: keyof typeof looks
  className?: string
}) {
  return (
    <button
      type="button"
      {...rest}
      aria-label={label}
      className={buttonClass(look, `px-0! ${className}`)}
      title={label}
    >
      <Icon name={icon} />
    </button>
  )
}
