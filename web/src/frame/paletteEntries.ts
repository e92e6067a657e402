import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import { comparable } from '../app/comparable'
import { day } from '../app/format'
import { places } from '../app/places'
import { queries } from '../app/queries'
import type { Job } from '../schedules/job'
import { jobsQuery } from '../schedules/queries'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import type { IconName } from '../ui/Icon'
import { type Found, fold, isReported, reportsOf, titleOf } from './searchResults'

const words = texts.app.palette

/** A search result or command in the palette. */
export interface Entry {
  id: string
  group: string
  icon: IconName
  label: string
  hint?: string
  /** Its keyboard shortcut. */
  keys?: string
  /** What kind of result it is. */
  kind?: string
  /** When it was created or last changed. */
  at?: string
  /** The text that matched. May be written by agents. */
  found?: Pick<Found, 'snippet' | 'marks'> | undefined
  /** Set on results from the server, which may match the query in more than the title. */
  isResult?: boolean
  run: () => void
}

type Navigate = ReturnType<typeof useNavigate>
type Agents = readonly Schemas['Agent'][]

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
  comparable(typed)
    .split(' ')
    .every(word => comparable(label).includes(word))

/** Number of results to request. Sessions with the same title share a row. */
const limit = 40
/** Maximum number of comments to show per task. */
const mostComments = 2
/** Maximum number of standups to show. The standup of each day repeats what is still open. */
const mostStandups = 2

/** Returns the results among tasks: the typed key first, then each task with the comments that match. */
function tasksOf(typed: string, found: readonly Found[], navigate: Navigate): Entry[] {
  const rows = found.filter(f => f.task_key !== null)
  const key = /^[a-z][a-z0-9]*-\d+$/i.test(typed) ? typed.toUpperCase() : null
  const named = rows.find(t => t.kind === 'task' && t.task_key === key)
  const comments = new Map<string, number>()
  const entry = (of: Found): Entry[] => {
    const task = of.task_key ?? ''
    const isTask = of.kind === 'task'
    const n = (comments.get(task) ?? 0) + 1
    if (!isTask && comments.set(task, n) && n > mostComments) return []
    return [
      {
        id: of.comment_id ?? `task-${of.task_id}`,
        group: words.tasks,
        icon: isTask ? 'tasks' : 'comment',
        label: of.title,
        hint: task,
        kind: isTask ? words.kinds.task : words.kinds.comment,
        at: of.edited_at ?? of.at,
        found: of,
        isResult: true,
        run: () => void navigate({ to: '/tasks', search: { task } }),
      },
    ]
  }
  if (key !== null && !named) {
    const run = () => void navigate({ to: '/tasks', search: { task: key } })
    return [{ id: key, group: words.tasks, icon: 'tasks', label: key, run }, ...rows.flatMap(entry)]
  }
  return [...(named ? [named] : []), ...rows.filter(r => r !== named)].flatMap(entry)
}

/** Returns the title of a standup with its day as other pages write it. */
const standupName = (title: string): string =>
  title.replace(/ of (\d{4}-\d\d-\d\d)/, (_, at: string) => `, ${day(`${at}T12:00:00`)}`)

/** Sorts groups of results by the time of their first, newest first. */
const newest = <T extends { first: Found }>(groups: readonly T[]): T[] =>
  groups.toSorted((a, b) => b.first.at.localeCompare(a.first.at))

function standupsOf(found: readonly Found[], name: (agent: string) => string, navigate: Navigate): Entry[] {
  const all = newest(reportsOf(found))
  const shared = { group: words.reports, isResult: true }
  const shown = all.slice(0, mostStandups).map(
    ({ standup: id, first, agents }): Entry => ({
      ...shared,
      id: `standup-${id}`,
      icon: 'standups',
      label: standupName(first.title),
      hint: agents.map(name).join(', '),
      kind: words.kinds.report,
      at: first.at,
      found: first,
      run: () => void navigate({ to: '/standups/$id', params: { id } }),
    }),
  )
  const others = all.length - shown.length
  const more = {
    id: 'standups',
    icon: 'more',
    label: words.moreStandups(others),
    run: () => void navigate({ to: '/standups' }),
  } as const
  return others > 0 ? [...shown, { ...shared, ...more }] : shown
}

/** The ID of the entry that is there for each query. */
export const newTaskId = 'new-of'

/** Creates a task from what was typed. It waits for the results, so that Enter does not overtake them. */
const newTaskOf = (typed: string, navigate: Navigate): Entry => ({
  id: newTaskId,
  group: words.commands,
  icon: 'plus',
  label: words.newTaskOf(typed),
  found: { snippet: '', marks: [] },
  run: () => void navigate({ to: '/tasks', search: { new: typed } }),
})

const sessionsOf = (found: readonly Found[], name: (agent: string) => string, navigate: Navigate): Entry[] =>
  newest(fold(found)).flatMap(({ first: s, others, agents }): Entry[] => {
    const key = s.session_id
    if (key === null) return []
    const shared = { group: words.sessions, isResult: true }
    const one: Entry = {
      ...shared,
      id: `session-${key}`,
      icon: 'sessions',
      label: titleOf(s),
      hint: agents.map(name).join(', '),
      kind: words.kinds.session,
      at: s.at,
      found: s,
      run: () => void navigate({ to: '/sessions/$key', params: { key } }),
    }
    const more: Entry = {
      ...shared,
      id: `like-${key}`,
      icon: 'more',
      label: words.moreLike(others),
      run: () => void navigate({ to: '/sessions', search: { show: 'history', q: s.title } }),
    }
    return others > 0 ? [one, more] : [one]
  })

const parts = ['account', 'users', 'agents', 'gateway', 'projects', 'teams', 'retention', 'audit', 'health'] as const

const placesOf = (navigate: Navigate): Entry[] =>
  places.map(p => ({
    id: p.id,
    group: words.places,
    icon: p.icon,
    label: texts.app.places[p.id],
    ...(p.key ? { keys: `g ${p.key}` } : {}),
    run: () => void navigate({ to: p.path }),
  }))

const partsOf = (navigate: Navigate): Entry[] =>
  parts.map(id => ({
    id: `settings-${id}`,
    group: words.places,
    icon: 'settings',
    label: settings.parts[id].name,
    hint: texts.app.places.settings,
    run: () => void navigate({ to: `/settings/${id}` }),
  }))

const agentsOf = (agents: Agents, navigate: Navigate): Entry[] =>
  agents.map(a => ({
    id: `agent-${a.agent_id}`,
    group: words.agents,
    icon: 'agents',
    label: a.name,
    hint: a.agent_id,
    run: () => void navigate({ to: '/agents/$agentId', params: { agentId: a.agent_id } }),
  }))

const jobsOf = (jobs: readonly Job[], name: (agent: string) => string, navigate: Navigate): Entry[] =>
  jobs.map(j => ({
    id: `job-${j.id}`,
    group: texts.app.places.schedules,
    icon: 'schedules',
    label: j.name,
    ...(j.agentId ? { hint: name(j.agentId) } : {}),
    kind: words.kinds.job,
    run: () => void navigate({ to: '/schedules', search: { job: j.id } }),
  }))

interface Entries {
  entries: Entry[]
  /** Whether the results belong to an earlier query, because the server hasn't answered the current one. */
  isOld: boolean
  error: unknown
}

/**
 * Returns what matches: inbox items by their text; pages, agents, jobs, and commands by name; and what the server finds.
 * Without a query, returns the recent things, the commands, the pages, and the agents.
 */
export function useEntries(
  typed: string,
  recent: readonly Entry[],
  commands: readonly Entry[],
  inbox: readonly Entry[],
): Entries {
  const navigate = useNavigate()
  const q = useCalm(typed.trim(), 150)
  const agents = useQuery(queries.agents).data
  const connected = useQuery(queries.gateway).data?.state === 'connected'
  const jobs = useQuery({ ...jobsQuery, enabled: connected && q !== '' }).data?.rows
  const found = useQuery({
    queryKey: ['search', q],
    queryFn: ({ signal }) => take(api.GET('/api/v1/search', { params: { query: { q, limit } }, signal })),
    enabled: q.length > 1,
    placeholderData: keepPreviousData,
    staleTime: 5_000,
  })
  const entries = useMemo(() => {
    const text = typed.trim()
    if (!text) return [...recent, ...commands, ...placesOf(navigate), ...agentsOf(agents ?? [], navigate)]
    const answered = q.length > 1 ? (found.data ?? []) : []
    const name = (id: string) => agents?.find(a => a.agent_id === id)?.name ?? id
    const named = [
      ...placesOf(navigate),
      ...partsOf(navigate),
      ...agentsOf(agents ?? [], navigate),
      ...jobsOf(jobs ?? [], name, navigate),
      ...commands,
    ].filter(e => fits(`${e.label} ${e.hint ?? ''}`, text))
    return [
      ...tasksOf(text, answered, navigate),
      ...inbox.filter(e => fits(`${e.label} ${e.found?.snippet ?? ''}`, text)),
      ...named,
      // Matches by name come first; reports and sessions match on their content.
      ...standupsOf(answered, name, navigate),
      ...sessionsOf(
        answered.filter(s => !isReported(s, answered)),
        name,
        navigate,
      ),
      newTaskOf(text, navigate),
    ]
  }, [typed, q, found.data, agents, jobs, recent, commands, inbox, navigate])
  return { entries, isOld: q !== typed.trim() || found.isPlaceholderData, error: found.error }
}
