import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import { places } from '../app/places'
import { leads, queries, useMe } from '../app/queries'
import { session } from '../app/session'
import { setView } from '../app/view'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import type { IconName } from '../ui/Icon'
import { type Found, fold, reportsOf, titleOf } from './searchResults'

const words = texts.app.palette

/** A search result or command in the palette. */
export interface Entry {
  id: string
  group: string
  icon: IconName
  label: string
  hint?: string
  /** When it was created or last changed. */
  at?: string
  /** Set on a row that stands for more results like the one above it. */
  more?: boolean
  /** Set on results from the server, which may match the query in more than the title. */
  found?: boolean
  run: () => void
}

/** Returns the text once it hasn't changed for `ms`. */
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

/** Number of results to request. Sessions with the same title share a row. */
const limit = 40

type Navigate = ReturnType<typeof useNavigate>

function tasksOf(typed: string, found: readonly Found[], navigate: Navigate): Entry[] {
  const open = (task: string) => () => void navigate({ to: '/tasks', search: { task } })
  const list: Entry[] = []
  if (/^[a-z][a-z0-9]*-\d+$/i.test(typed)) {
    const key = typed.toUpperCase()
    const named = found.find(t => t.kind === 'task' && t.task_key === key)
    list.push({
      ...{ id: named ? `task-${named.task_id}` : `key-${typed}`, group: words.tasks, icon: 'tasks', run: open(key) },
      ...(named ? { label: named.title, hint: key, at: named.edited_at ?? named.at, found: true } : { label: key }),
    })
  }
  for (const t of found) {
    const key = t.task_key
    if (key === null || list.some(e => e.id === `task-${t.task_id}` || e.label === key)) continue
    list.push({
      id: `task-${t.task_id}`,
      group: words.tasks,
      icon: t.kind === 'task' ? 'tasks' : 'comment',
      label: t.title,
      hint: key,
      at: t.edited_at ?? t.at,
      found: true,
      run: open(key),
    })
  }
  return list
}

const standupsOf = (found: readonly Found[], navigate: Navigate): Entry[] =>
  reportsOf(found).map(({ standup: id, title, at, agents }) => ({
    id: `standup-${id}`,
    group: words.reports,
    icon: 'standups',
    label: title,
    hint: agents.join(', '),
    at,
    found: true,
    run: () => void navigate({ to: '/standups/$id', params: { id } }),
  }))

function sessionsOf(found: readonly Found[], navigate: Navigate): Entry[] {
  return fold(found).flatMap(({ first: s, others, agents }) => {
    const key = s.session_id
    if (key === null) return []
    const one: Entry = {
      id: `session-${key}`,
      group: words.sessions,
      icon: 'sessions',
      label: titleOf(s),
      hint: agents.join(', '),
      at: s.at,
      found: true,
      run: () => void navigate({ to: '/sessions/$key', params: { key } }),
    }
    if (others === 0) return [one]
    const more: Entry = {
      ...one,
      id: `like-${key}`,
      label: words.moreLike(others),
      hint: '',
      more: true,
      run: () => void navigate({ to: '/sessions', search: { show: 'history', q: s.title } }),
    }
    delete more.at
    return [one, more]
  })
}

const parts = ['account', 'users', 'agents', 'gateway', 'projects', 'teams', 'retention', 'audit', 'health'] as const

const placesOf = (navigate: Navigate): Entry[] =>
  places.map(p => ({
    id: p.id,
    group: words.places,
    icon: p.icon,
    label: texts.app.places[p.id],
    ...(p.key ? { hint: `g ${p.key}` } : {}),
    run: () => void navigate({ to: p.path }),
  }))

const partsOf = (navigate: Navigate): Entry[] =>
  parts.map(id => ({
    id: `settings-${id}`,
    group: texts.app.places.settings,
    icon: 'settings',
    label: settings.parts[id].name,
    hint: texts.app.places.settings,
    run: () => void navigate({ to: `/settings/${id}` }),
  }))

const agentsOf = (agents: readonly Schemas['Agent'][], navigate: Navigate): Entry[] =>
  agents.map(a => ({
    id: `agent-${a.agent_id}`,
    group: words.agents,
    icon: 'agents',
    label: a.name,
    hint: a.agent_id,
    run: () => void navigate({ to: '/agents/$agentId', params: { agentId: a.agent_id } }),
  }))

const messagesOf = (agents: readonly Schemas['Agent'][], navigate: Navigate): Entry[] =>
  agents
    .filter(a => a.in_runtime !== false)
    .map(a => ({
      id: `message-${a.agent_id}`,
      group: words.commands,
      icon: 'comment',
      label: words.message(a.name),
      hint: a.agent_id,
      run: () =>
        void navigate({
          to: '/sessions/$key',
          params: { key: `agent:${a.agent_id.toLowerCase()}:main` },
          search: { compose: '1' },
        }),
    }))

function commandsOf(may: boolean, navigate: Navigate, onKeys: () => void): Entry[] {
  const all: (Omit<Entry, 'group'> & { lead?: boolean })[] = [
    {
      id: 'new',
      icon: 'plus',
      label: words.newTask,
      hint: 'c',
      run: () => void navigate({ to: '/tasks', search: { new: '1' } }),
    },
    { id: 'standup', icon: 'standups', label: words.runStandup, run: () => void navigate({ to: '/standups' }) },
    {
      id: 'job',
      icon: 'schedules',
      label: words.newJob,
      lead: true,
      run: () => void navigate({ to: '/schedules', search: { form: 'new' } }),
    },
    {
      id: 'user',
      icon: 'plus',
      label: words.newUser,
      lead: true,
      run: () => void navigate({ to: '/settings/users', search: { new: '1' } }),
    },
    {
      id: 'light',
      icon: 'sun',
      label: `${texts.app.theme}: ${texts.app.themes.light}`,
      run: () => setView({ theme: 'light' }),
    },
    {
      id: 'dark',
      icon: 'moon',
      label: `${texts.app.theme}: ${texts.app.themes.dark}`,
      run: () => setView({ theme: 'dark' }),
    },
    { id: 'keys', icon: 'keyboard', label: words.keys, hint: '?', run: onKeys },
    { id: 'out', icon: 'out', label: texts.app.signOut, run: session.signOut },
  ]
  return all.filter(c => may || !c.lead).map(({ lead: _, ...c }) => ({ ...c, group: words.commands }))
}

interface Entries {
  entries: Entry[]
  /** Whether the results belong to an earlier query, because the server hasn't answered the current one. */
  isOld: boolean
  error: unknown
}

/** Returns the matching pages, agents, and commands, and the tasks, reports, and sessions that the server finds. */
export function useEntries(typed: string, onKeys: () => void): Entries {
  const navigate = useNavigate()
  const q = useCalm(typed.trim(), 150)
  const agents = useQuery(queries.agents).data
  const may = leads(useMe().data)
  const found = useQuery({
    queryKey: ['search', q],
    queryFn: ({ signal }) => take(api.GET('/api/v1/search', { params: { query: { q, limit } }, signal })),
    enabled: q.length > 1,
    placeholderData: keepPreviousData,
    staleTime: 5_000,
  })
  const entries = useMemo(() => {
    const answered = q.length > 1 ? (found.data ?? []) : []
    const text = typed.trim()
    const list = [
      ...tasksOf(text, answered, navigate),
      ...placesOf(navigate),
      // Without a query these would come between the pages and the commands.
      ...(text ? partsOf(navigate) : []),
      ...agentsOf(agents ?? [], navigate),
      ...(text && may ? messagesOf(agents ?? [], navigate) : []),
      ...(text ? commandsOf(may, navigate, onKeys) : []),
      // Matches by name come first; reports and sessions match on their content.
      ...standupsOf(answered, navigate),
      ...sessionsOf(answered, navigate),
      ...(text ? [] : commandsOf(may, navigate, onKeys)),
    ]
    return text ? list.filter(e => e.found || fits(`${e.label} ${e.hint ?? ''}`, text)) : list
  }, [typed, q, found.data, agents, may, navigate, onKeys])
  return { entries, isOld: q !== typed.trim() || found.isPlaceholderData, error: found.error }
}
