import { Dialog as Base } from '@base-ui/react/dialog'
import { useEffect, useId, useState } from 'react'
import { asProblem } from '../api/problem'
import { type ItemActions, useItemActions } from '../inbox/useItemActions'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { IconButton } from '../ui/Button'
import { Icon } from '../ui/Icon'
import { useCommands, useInbox, useRecent } from './paletteCommands'
import { type Entry, newTaskId, useEntries } from './paletteEntries'
import { type Piece, piecesOf, titlePieces } from './searchResults'

const words = texts.app.palette

/** The command palette: type, arrow keys, Enter. */
export function Palette({ open, onClose, onKeys }: { open: boolean; onClose: () => void; onKeys: () => void }) {
  const verbs = useItemActions()
  return (
    <>
      <Base.Root onOpenChange={next => !next && onClose()} open={open}>
        <Base.Portal>
          <Base.Backdrop className="fixed inset-0 bg-shade" />
          <Base.Popup
            aria-label={words.open}
            className="hairline fixed top-[8vh] left-1/2 flex max-h-[76vh] w-[calc(100vw-16px)] max-w-xl -translate-x-1/2 flex-col overflow-hidden rounded-md bg-raised"
          >
            <Content onClose={onClose} onKeys={onKeys} verbs={verbs} />
          </Base.Popup>
        </Base.Portal>
      </Base.Root>
      {/* The dialogs outlive the palette. */}
      {verbs.questions}
    </>
  )
}

interface Props {
  onClose: () => void
  onKeys: () => void
  verbs: ItemActions
}

function Content({ onClose, onKeys, verbs }: Props) {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const [early, setEarly] = useState(false)
  const id = useId()
  const { entries, isOld, error } = useEntries(typed, useRecent(), useCommands(verbs, onKeys), useInbox())
  const current = Math.min(at, entries.length - 1)
  const found = entries.filter(e => e.id !== newTaskId).length
  // A result of an earlier query must not be opened while the user is still typing.
  const mustWait = isOld && entries[current]?.found !== undefined
  const run = (entry: Entry | undefined) => {
    if (!entry) return
    onClose()
    // Runs the entry after the dialog has returned the focus.
    setTimeout(entry.run)
  }
  const onKeyDown = (e: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[e.key]
    if (step !== undefined) {
      setAt(Math.max(0, Math.min(entries.length - 1, current + step)))
      setEarly(false)
    } else if (e.key === 'Enter' && !e.nativeEvent.isComposing) {
      if (mustWait) setEarly(true)
      else run(entries[current])
    } else return
    e.preventDefault()
  }
  // Enter that came before the results opens the first of them.
  useEffect(() => {
    if (!early || mustWait) return
    setEarly(false)
    run(entries[current])
  })
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
            setEarly(false)
          }}
          onKeyDown={onKeyDown}
          placeholder={words.placeholder}
          role="combobox"
          spellCheck={false}
          value={typed}
        />
        <IconButton className="pointer-fine:hidden" icon="close" label={texts.ui.close} onClick={onClose} />
      </div>
      <p aria-live="polite" className="sr-only">
        {words.results(found)}
      </p>
      {error ? <p className="px-4 py-2 text-danger">{`${words.failed} ${asProblem(error).title}`}</p> : null}
      {found === 0 && !isOld && <p className="px-4 py-6 text-center text-soft">{words.nothing}</p>}
      <div aria-label={words.open} className="overflow-y-auto py-1" id={`${id}-list`} role="listbox" tabIndex={-1}>
        {grouped(entries).map(g => (
          <div key={g.name} aria-label={g.name} role="group">
            <p aria-hidden="true" className="px-3 pt-2 pb-0.5 font-medium text-soft text-xs">
              {g.name}
            </p>
            {g.entries.map(({ entry, i }) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
              <div
                key={entry.id}
                aria-selected={i === current}
                className={`flex min-h-8 items-start gap-2.5 px-3 py-1.5 pointer-coarse:py-2.5 ${i === current ? 'bg-accent-tint' : ''}`}
                id={`${id}-${i}`}
                onClick={() => run(entry)}
                onPointerMove={() => i !== current && setAt(i)}
                role="option"
                tabIndex={-1}
              >
                <Row entry={entry} typed={typed} />
              </div>
            ))}
          </div>
        ))}
      </div>
      <p aria-hidden="true" className="border-line border-t px-3 py-1.5 text-soft text-xs pointer-coarse:hidden">
        {words.hints}
      </p>
    </>
  )
}

interface Group {
  name: string
  entries: { entry: Entry; i: number }[]
}

/** Returns the entries in groups, with their positions. */
function grouped(entries: readonly Entry[]): Group[] {
  const groups: Group[] = []
  entries.forEach((entry, i) => {
    if (groups.at(-1)?.name !== entry.group) groups.push({ name: entry.group, entries: [] })
    groups.at(-1)?.entries.push({ entry, i })
  })
  return groups
}

function Row({ entry: e, typed }: { entry: Entry; typed: string }) {
  return (
    <>
      <Icon className="mt-0.5 text-soft" name={e.icon} />
      <span className="min-w-0 grow">
        <span className="flex items-baseline gap-x-2 max-sm:flex-wrap">
          <bdi className={`truncate max-sm:basis-full ${e.icon === 'more' ? 'text-soft' : ''}`}>
            <Marked of={titlePieces(e.label, typed)} />
          </bdi>
          {e.hint && (
            <bdi className={`shrink-0 text-soft text-xs ${/^\S+-\d+$/.test(e.hint) ? 'key' : ''}`}>{e.hint}</bdi>
          )}
          <span className="ml-auto shrink-0 whitespace-nowrap text-soft text-xs">
            {e.keys && <kbd className="font-mono pointer-coarse:hidden">{e.keys}</kbd>}
            {e.kind}
            {e.at && (
              <>
                {e.kind && ' · '}
                <Age at={e.at} /> {words.ago}
              </>
            )}
          </span>
        </span>
        {e.found?.snippet && (
          <bdi className="block truncate text-soft text-xs">
            <Marked of={e.isResult ? piecesOf(e.found) : titlePieces(e.found.snippet, typed)} />
          </bdi>
        )}
      </span>
    </>
  )
}

const Marked = ({ of }: { of: readonly Piece[] }) =>
  of.map((p, i) =>
    p.hit ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces have no identity
      <mark key={i} className="bg-transparent font-semibold text-accent">
        {p.text}
      </mark>
    ) : (
      p.text
    ),
  )
