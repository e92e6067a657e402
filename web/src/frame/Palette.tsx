import { Dialog as Base } from '@base-ui/react/dialog'
import { useEffect, useId, useState } from 'react'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { Icon } from '../ui/Icon'
import { type Entry, useEntries } from './paletteEntries'

const words = texts.app.palette

/** The command palette: type, arrow keys, Enter. */
export function Palette({ open, onClose, onKeys }: { open: boolean; onClose: () => void; onKeys: () => void }) {
  return (
    <Base.Root onOpenChange={next => !next && onClose()} open={open}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 bg-shade" />
        <Base.Popup
          aria-label={words.open}
          className="hairline fixed top-[8vh] left-1/2 flex max-h-[76vh] w-[calc(100vw-16px)] max-w-xl -translate-x-1/2 flex-col overflow-hidden rounded-md bg-raised"
        >
          <Content onClose={onClose} onKeys={onKeys} />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

function Content({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const id = useId()
  const { entries, isOld, error } = useEntries(typed, onKeys)
  const current = Math.min(at, entries.length - 1)
  const run = (entry: Entry | undefined) => {
    if (!entry) return
    onClose()
    // Runs the entry after the dialog has returned the focus.
    setTimeout(entry.run)
  }
  const onKeyDown = (e: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[e.key]
    if (step !== undefined) setAt(Math.max(0, Math.min(entries.length - 1, current + step)))
    else if (e.key === 'Enter' && !e.nativeEvent.isComposing) {
      // Don't open a result of an earlier query while the user is still typing.
      if (!(isOld && entries[current]?.found)) run(entries[current])
    } else return
    e.preventDefault()
  }
  useEffect(() => {
    document.getElementById(`${id}-${current}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, current])
  return (
    <>
      <div className="flex items-center gap-2 border-line border-b px-3">
        <Icon className="text-soft" name="search" />
        <input
          aria-activedescendant={entries.length > 0 ? `${id}-${current}` : undefined}
          aria-autocomplete="list"
          aria-controls={`${id}-list`}
          aria-expanded="true"
          aria-label={words.label}
          autoComplete="off"
          className="h-11 w-full bg-transparent text-base outline-none"
          onChange={e => {
            setTyped(e.target.value)
            setAt(0)
          }}
          onKeyDown={onKeyDown}
          placeholder={words.placeholder}
          role="combobox"
          spellCheck={false}
          value={typed}
        />
      </div>
      <p aria-live="polite" className="sr-only">
        {words.results(entries.length)}
      </p>
      {error ? <p className="px-4 py-2 text-danger">{`${words.failed} ${asProblem(error).title}`}</p> : null}
      {entries.length === 0 && <p className="px-4 py-6 text-center text-soft">{words.nothing}</p>}
      <div aria-label={words.open} className="overflow-y-auto py-1" id={`${id}-list`} role="listbox" tabIndex={-1}>
        {entries.map((e, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
          <div
            key={e.id}
            aria-selected={i === current}
            className={`flex h-8 items-center gap-2.5 px-3 pointer-coarse:h-10 ${i === current ? 'bg-accent-tint' : ''}`}
            id={`${id}-${i}`}
            onClick={() => run(e)}
            onPointerMove={() => i !== current && setAt(i)}
            role="option"
            tabIndex={-1}
          >
            {e.more ? <span className="w-4 shrink-0" /> : <Icon className="text-soft" name={e.icon} />}
            <bdi className={e.more ? 'truncate text-soft' : 'truncate'}>{e.label}</bdi>
            {e.hint && <span className="key shrink-0 text-soft text-xs">{e.hint}</span>}
            <span className="ml-auto flex shrink-0 gap-3 text-soft text-xs">
              {e.at && <Age at={e.at} />}
              <span className="hidden w-20 whitespace-nowrap text-right sm:inline">
                {entries[i - 1]?.group === e.group ? '' : e.group}
              </span>
            </span>
          </div>
        ))}
      </div>
    </>
  )
}
