import { Popover } from '@base-ui/react/popover'
import { type FormEvent, useState } from 'react'
import { setView, useView } from '../app/view'
import { texts } from '../texts'
import { Button } from '../ui/Button'
import { Field } from '../ui/Field'
import type { Status } from './task'

const words = texts.tasks

/** How many tasks a column has, of how many at most when somebody has set that; the button sets it. */
export function Count({ n, status }: { n: number; status: Status }) {
  const limit = useView().limits[status]
  const [open, setOpen] = useState(false)
  const over = limit !== undefined && n > limit
  const name = words.status[status]
  return (
    <Popover.Root onOpenChange={setOpen} open={open}>
      <Popover.Trigger
        aria-label={words.limit.of(name, n, limit)}
        className={`h-6 rounded-md px-1.5 text-xs hover:bg-hover pointer-coarse:h-9 pointer-coarse:min-w-9 ${over ? 'bg-attention-tint font-medium text-attention' : 'text-soft'}`}
        title={limit === undefined ? words.limit.set : words.limit.of(name, n, limit)}
      >
        {n.toLocaleString('en-US')}
        {limit !== undefined && ` / ${limit.toLocaleString('en-US')}`}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner align="start" className="z-50" sideOffset={4}>
          <Popover.Popup
            aria-label={words.limit.title(name)}
            className="hairline w-56 rounded-md bg-raised p-3 text-ink"
          >
            <Ask limit={limit} onEnd={() => setOpen(false)} status={status} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

function Ask({ status, limit, onEnd }: { status: Status; limit: number | undefined; onEnd: () => void }) {
  const { limits } = useView()
  const [typed, setTyped] = useState(limit === undefined ? '' : String(limit))
  const submit = (e: FormEvent) => {
    e.preventDefault()
    const { [status]: _, ...others } = limits
    const next = Math.floor(Number(typed))
    setView({ limits: next > 0 ? { ...others, [status]: next } : others })
    onEnd()
  }
  return (
    <form className="flex flex-col gap-2" onSubmit={submit}>
      <Field
        help={words.limit.help}
        inputMode="numeric"
        label={words.limit.title(words.status[status])}
        max={999}
        min={1}
        onChange={e => setTyped(e.target.value)}
        step={1}
        type="number"
        value={typed}
      />
      <Button className="self-end" look="primary" type="submit">
        {words.save}
      </Button>
    </form>
  )
}
