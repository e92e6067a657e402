import { useEffect, useRef } from 'react'
import { grouped } from '../app/format'
import { sessions as sessionsWords } from '../texts/sessions'
import { IconButton } from '../ui/Button'
import { inputClass } from '../ui/Field'
import { mostMatches } from './find'
import type { Find } from './useFind'

const words = sessionsWords.find

/** The bar that searches within a transcript. `reading` says that older messages are still loading. */
export function FindBar({ of: f, reading }: { of: Find; reading: boolean }) {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.select(), [])
  const n = f.matches.length
  const count = n >= mostMatches || reading ? `${grouped(n)}+` : grouped(n)
  return (
    <search className="flex w-full max-w-page shrink-0 items-center gap-1 px-3 py-1.5">
      <input
        ref={field}
        aria-label={words.label}
        className={`${inputClass} h-8 max-w-80 grow pointer-coarse:h-10`}
        maxLength={200}
        onChange={e => f.setQuery(e.target.value)}
        onKeyDown={e => {
          if (e.key === 'Escape') f.close()
          else if (e.key === 'Enter') f.go(e.shiftKey ? -1 : 1)
          else return
          e.preventDefault()
          e.stopPropagation()
        }}
        placeholder={words.label}
        type="search"
        value={f.query}
      />
      <output className="min-w-20 px-1 text-soft text-xs tabular-nums">
        {f.query.trim() === '' ? '' : n === 0 ? (reading ? words.reading : words.none) : words.of(f.at + 1, count)}
      </output>
      <IconButton disabled={n === 0} icon="up" label={words.previous} onClick={() => f.go(-1)} />
      <IconButton disabled={n === 0} icon="down" label={words.next} onClick={() => f.go(1)} />
      <IconButton icon="close" label={words.close} onClick={f.close} />
    </search>
  )
}
