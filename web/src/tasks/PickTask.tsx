import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useId, useState } from 'react'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { Field } from '../ui/Field'
import { StatusMark } from './Bits'
import { foundQuery } from './queries'
import type { TaskCard } from './task'

const words = texts.tasks

interface Props {
  label: string
  /** Keys of tasks that can't be picked. */
  not: readonly string[]
  busy: boolean
  /** Why the last pick failed. */
  error?: unknown
  autoFocus?: boolean
  onPick: (task: TaskCard) => void
}

/** A field that finds tasks by key or title. Arrow keys select, Enter or a click picks. */
export function PickTask({ label, not, busy, error, autoFocus, onPick }: Props) {
  const id = useId()
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const text = useLate(typed.trim())
  const asked = useQuery({ ...foundQuery(text), enabled: text !== '', placeholderData: keepPreviousData })
  const found =
    text === '' || typed.trim() === '' ? [] : (asked.data ?? []).filter(t => !not.includes(t.key)).slice(0, 8)
  const old = text !== typed.trim() || asked.isPlaceholderData // results of the previous text
  const current = Math.min(at, found.length - 1)
  const seen = found[current]?.key
  useEffect(() => {
    if (seen) document.getElementById(`${id}-${current}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, current, seen])
  const pick = (task: TaskCard | undefined) => {
    if (!task || busy) return
    setTyped('')
    setAt(0)
    onPick(task)
  }
  const onKeyDown = (e: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key]
    if (step !== undefined) setAt(Math.max(0, Math.min(found.length - 1, current + step)))
    else if (e.key !== 'Enter' || e.nativeEvent.isComposing) return
    else if (!old) pick(found[current])
    e.preventDefault()
  }
  const nothing = typed.trim() !== '' && text !== '' && asked.isSuccess && !asked.isFetching && found.length === 0
  return (
    <div className="flex flex-col">
      <Field
        aria-activedescendant={found.length > 0 ? `${id}-${current}` : undefined}
        aria-autocomplete="list"
        aria-controls={found.length > 0 ? `${id}-list` : undefined}
        aria-expanded={found.length > 0}
        autoComplete="off"
        autoFocus={autoFocus}
        error={error && typed === '' ? asProblem(error).message : undefined}
        help={nothing ? words.noSuchTask : undefined}
        hideLabel
        label={label}
        onChange={e => {
          setTyped(e.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
        placeholder={label}
        role="combobox"
        spellCheck={false}
        value={typed}
      />
      {found.length > 0 && (
        <div
          aria-label={label}
          className="hairline mt-1 overflow-hidden rounded-md bg-raised py-1"
          id={`${id}-list`}
          role="listbox"
          tabIndex={-1}
        >
          {found.map((t, i) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
            <div
              key={t.id}
              aria-selected={i === current}
              className={`flex h-8 items-center gap-2 px-2 pointer-coarse:h-10 ${i === current ? 'bg-accent-tint' : ''}`}
              id={`${id}-${i}`}
              onClick={() => pick(t)}
              onPointerMove={() => i !== current && setAt(i)}
              role="option"
              tabIndex={-1}
            >
              <span className="key shrink-0 text-soft">{t.key}</span>
              <bdi className="grow truncate">{t.title}</bdi>
              <StatusMark blocked={t.blocked} of={t.status} />
            </div>
          ))}
        </div>
      )}
    </div>
  )
}

/** Returns the text shortly after typing stops, to limit requests. */
function useLate(text: string): string {
  const [late, setLate] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setLate(text), 150)
    return () => clearTimeout(timer)
  }, [text])
  return late
}
