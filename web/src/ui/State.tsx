import type { ReactNode } from 'react'
import { Icon, type IconName } from './Icon'

/** The tones of a status. What succeeded is as green as what is live. */
export type Tone = 'active' | 'idle' | 'attention' | 'danger' | 'done'

/** How a status looks: its tone and icon. */
export type Look = { tone: Tone; icon: IconName }

const tones: Record<Tone, { icon: IconName; text: string; tint: string }> = {
  active: { icon: 'pulse', text: 'text-active', tint: 'bg-active-tint' },
  idle: { icon: 'sleep', text: 'text-idle', tint: 'bg-idle-tint' },
  attention: { icon: 'warning', text: 'text-attention', tint: 'bg-attention-tint' },
  danger: { icon: 'error', text: 'text-danger', tint: 'bg-danger-tint' },
  done: { icon: 'check', text: 'text-active', tint: 'bg-active-tint' },
}

/** Returns the class of the text color of a tone. */
export const toneText = (tone: Tone): string => tones[tone].text

interface Props {
  tone: Tone
  icon?: IconName
  children?: ReactNode
  title?: string
}

/** A status as icon, word, and color, so that none of them is needed alone. */
export function State({ tone, icon, children, title }: Props) {
  const t = tones[tone]
  return (
    // Aligned on the text's baseline, to sit beside other text.
    <span className={`inline-flex items-baseline gap-1 whitespace-nowrap ${t.text}`} title={title}>
      {/* The pulse is a dot in the middle of its square. */}
      <Icon
        className={`size-3.5 self-center ${(icon ?? t.icon) === 'pulse' ? '-mx-0.75' : ''}`}
        name={icon ?? t.icon}
      />
      {children}
    </span>
  )
}

/** A status with a background, to stand out. */
export function Badge({ tone, icon, children, title }: Props) {
  const t = tones[tone]
  return (
    <span
      className={`inline-flex h-5 max-w-full items-center gap-1 rounded-sm px-1.5 text-xs ${t.text} ${t.tint}`}
      title={title}
    >
      <Icon className="size-3" name={icon ?? t.icon} />
      <span className="truncate">{children}</span>
    </span>
  )
}

/** A label, such as a tag or a task type. */
export function Chip({ children, title }: { children: ReactNode; title?: string }) {
  return (
    <span className="inline-flex h-5 max-w-40 items-center rounded-sm bg-hover px-1.5 text-soft text-xs" title={title}>
      <span className="truncate">{children}</span>
    </span>
  )
}
