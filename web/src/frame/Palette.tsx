import { Dialog as Base } from '@base-ui/react/dialog'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useId, useMemo, useState } from 'react'
import { api, take } from '../api/client'
import { asProblem } from '../api/problem'
import { places } from '../app/places'
import { queries } from '../app/queries'
import { session } from '../app/session'
import { setView } from '../app/view'
import { texts } from '../texts'
import { Icon, type IconName } from '../ui/Icon'

const words = texts.app.palette

interface Entry {
  id: string
  group: string
  icon: IconName
  label: string
  hint?: string
  run: () => void
}

/** What somebody types, a moment after they stopped. */
function useCalm(text: string, ms: number): string {
  const [calm, setCalm] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setCalm(text), ms)
    return () => clearTimeout(timer)
  }, [text, ms])
  return calm
}

const fits = (label: string, typed: string): boolean =>
  typed
    .toLowerCase()
    .split(/\s+/)
    .every(word => label.toLowerCase().includes(word))

/** Places, agents and commands that fit, and the tasks and sessions that the service finds. */
function useEntries(typed: string, open: boolean, onKeys: () => void): { entries: Entry[]; error: unknown } {
  const navigate = useNavigate()
  const q = useCalm(typed.trim(), 150)
  const agents = useQuery({ ...queries.agents, enabled: open }).data
  const found = useQuery({
    queryKey: ['search', q],
    queryFn: ({ signal }) => take(api.GET('/api/v1/search', { params: { query: { q, limit: 8 } }, signal })),
    enabled: open && q.length > 1,
    placeholderData: keepPreviousData,
    staleTime: 5_000,
  })
  const entries = useMemo(() => {
    const list: Entry[] = []
    const openTask = (task: string) => () => void navigate({ to: '/tasks', search: { task } })
    if (/^[a-z][a-z0-9]*-\d+$/i.test(q)) {
      list.push({
        id: `key-${q}`,
        group: words.tasks,
        icon: 'tasks',
        label: q.toUpperCase(),
        run: openTask(q.toUpperCase()),
      })
    }
    for (const t of q.length > 1 ? (found.data ?? []) : []) {
      const key = t.task_key
      if (key === null) continue
      const known = list.some(e => e.id === `task-${t.task_id}` || e.label === key)
      if (!known)
        list.push({
          id: `task-${t.task_id}`,
          group: words.tasks,
          icon: t.kind === 'task' ? 'tasks' : 'comment',
          label: t.title,
          hint: key,
          run: openTask(key),
        })
    }
    for (const p of places)
      list.push({
        id: p.id,
        group: words.places,
        icon: p.icon,
        label: texts.app.places[p.id],
        ...(p.key ? { hint: `g ${p.key}` } : {}),
        run: () => void navigate({ to: p.path }),
      })
    for (const a of agents ?? [])
      list.push({
        id: `agent-${a.agent_id}`,
        group: words.agents,
        icon: 'agents',
        label: a.name,
        hint: a.agent_id,
        run: () => void navigate({ to: '/tasks', search: { assignee: a.agent_id } }),
      })
    // After what is meant by its name: sessions have all words in them.
    for (const { session_id: key, title, agent_id } of q.length > 1 ? (found.data ?? []) : []) {
      if (key === null) continue
      list.push({
        id: `session-${key}`,
        group: words.sessions,
        icon: 'sessions',
        label: title,
        ...(agent_id ? { hint: agent_id } : {}),
        run: () => void navigate({ to: '/sessions/$key', params: { key } }),
      })
    }
    list.push(
      {
        id: 'new',
        group: words.commands,
        icon: 'plus',
        label: words.newTask,
        hint: 'c',
        run: () => void navigate({ to: '/tasks', search: { new: '1' } }),
      },
      {
        id: 'light',
        group: words.commands,
        icon: 'sun',
        label: `${texts.app.theme}: ${texts.app.themes.light}`,
        run: () => setView({ theme: 'light' }),
      },
      {
        id: 'dark',
        group: words.commands,
        icon: 'moon',
        label: `${texts.app.theme}: ${texts.app.themes.dark}`,
        run: () => setView({ theme: 'dark' }),
      },
      { id: 'keys', group: words.commands, icon: 'keyboard', label: words.keys, hint: '?', run: onKeys },
      { id: 'out', group: words.commands, icon: 'out', label: texts.app.signOut, run: session.signOut },
    )
    return typed.trim()
      ? list.filter(
          e =>
            e.group === words.tasks || e.group === words.sessions || fits(`${e.label} ${e.hint ?? ''}`, typed.trim()),
        )
      : list
  }, [typed, q, found.data, agents, navigate, onKeys])
  return { entries, error: found.error }
}

/** Finds anything and does anything, by keyboard: type, arrows, Enter. */
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
  const { entries, error } = useEntries(typed, true, onKeys)
  const current = Math.min(at, entries.length - 1)
  const run = (entry: Entry | undefined) => {
    if (!entry) return
    onClose()
    // After the dialog has given the focus back.
    setTimeout(entry.run)
  }
  const onKeyDown = (e: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[e.key]
    if (step !== undefined) setAt(Math.max(0, Math.min(entries.length - 1, current + step)))
    else if (e.key === 'Enter' && !e.nativeEvent.isComposing) run(entries[current])
    else return
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
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the input's
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
            <Icon className="text-soft" name={e.icon} />
            <bdi className="truncate">{e.label}</bdi>
            {e.hint && <span className="key shrink-0 text-soft text-xs">{e.hint}</span>}
            <span className="ml-auto shrink-0 text-soft text-xs">
              {entries[i - 1]?.group === e.group ? '' : e.group}
            </span>
          </div>
        ))}
      </div>
    </>
  )
}
