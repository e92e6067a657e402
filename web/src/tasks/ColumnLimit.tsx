import { Popover } from '@base-ui/react/popover'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { grouped } from '../app/format'
import { setView, useView } from '../app/view'
import { texts } from '../texts'
import { Button } from '../ui/Button'
import { Field } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import type { Status } from './task'
import { filtersOf, isFiltered } from './taskFilters'

const tasksRoute = getRouteApi('/frame/tasks')

const words = texts.tasks

/**
 * The number of tasks in a column, and its limit. The button sets the limit. While filters are on, the limit isn't
 * checked, because hidden tasks count too.
 */
export function ColumnLimit({ n, status }: { n: number; status: Status }) {
  const set = useView().limits[status]
  const filtered = isFiltered(filtersOf(tasksRoute.useSearch()))
  const limit = filtered ? undefined : set
  const [open, setOpen] = useState(false)
  const over = limit !== undefined && n > limit
  const name = words.status[status]
  const help = set !== undefined && filtered ? words.limit.filtered(set) : words.limit.set
  return (
    <Popover.Root onOpenChange={setOpen} open={open}>
      <Popover.Trigger
        aria-label={set !== undefined && filtered ? `${name}: ${grouped(n)}. ${help}` : words.limit.of(name, n, limit)}
        className={`h-6 rounded-md px-1.5 text-xs hover:bg-hover pointer-coarse:h-9 pointer-coarse:min-w-9 ${over ? 'bg-attention-tint font-medium text-attention' : 'text-soft'}`}
        title={limit === undefined ? help : words.limit.of(name, n, limit)}
      >
        {grouped(n)}
        {limit !== undefined && ` / ${grouped(limit)}`}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner align="start" className="z-50" sideOffset={4}>
          <Popover.Popup
            aria-label={words.limit.title(name)}
            className="hairline w-56 rounded-md bg-raised p-3 text-ink"
          >
            <Ask limit={set} onEnd={() => setOpen(false)} status={status} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

function Ask({ status, limit, onEnd }: { status: Status; limit: number | undefined; onEnd: () => void }) {
  const { limits } = useView()
  const [typed, setTyped] = useState(limit === undefined ? '' : String(limit))
  const submit = () => {
    const { [status]: _, ...others } = limits
    const next = Math.floor(Number(typed))
    setView({ limits: next > 0 ? { ...others, [status]: next } : others })
    onEnd()
  }
  return (
    <SubmitForm className="gap-2" onSend={submit}>
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
    </SubmitForm>
  )
}
