import type { ReactNode } from 'react'
import { Button } from '../ui/Button'
import { Command, Note } from './Bits'

/** Shows a secret once. Keep it only in component state and drop it in `onDone`, never in a cache, storage, or URL. */
export function Secret({
  title,
  warning,
  lines,
  done,
  onDone,
}: {
  title: string
  warning: string
  /** The texts to copy, with their names. */
  lines: readonly (readonly [name: string, text: string])[]
  done: ReactNode
  onDone: () => void
}) {
  return (
    <section aria-label={title} className="flex flex-col gap-3" data-secret>
      <Note tone="attention">{warning}</Note>
      {lines.map(([name, text]) => (
        <div key={name} className="flex flex-col gap-1">
          <p className="text-soft text-xs">{name}</p>
          <Command label={name} text={text} />
        </div>
      ))}
      <div className="flex justify-end">
        <Button look="primary" onClick={onDone}>
          {done}
        </Button>
      </div>
    </section>
  )
}
