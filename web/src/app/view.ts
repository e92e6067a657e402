import { useSyncExternalStore } from 'react'

/** How one likes to look at things: the only other thing that is kept on this machine. */
export interface View {
  theme: 'system' | 'light' | 'dark'
  tasks: 'board' | 'table'
  /** Whether single keys do something; those who speak to their machine may not want that. */
  keys: boolean
  /** Whether Now leads back to the first steps while one is left. */
  firstSteps: boolean
  /** Views of the tasks that somebody has given a name to. */
  saved: readonly SavedView[]
  /** How many tasks a column of the board is to have at most, by its status. */
  limits: Readonly<Record<string, number>>
}

/** What an address says of the tasks, under a name of one's own. */
export interface SavedView {
  name: string
  /** Search parameters, such as `priority=high&view=table`. */
  search: string
}

const name = 'wardroom.view'
const usual: View = { theme: 'system', tasks: 'board', keys: true, firstSteps: true, saved: [], limits: {} }
const watchers = new Set<() => void>()
let current: View = read()

function isSaved(v: unknown): v is SavedView {
  return (
    typeof v === 'object' &&
    v !== null &&
    'name' in v &&
    'search' in v &&
    typeof v.name === 'string' &&
    typeof v.search === 'string'
  )
}

/** The limits that are numbers one can count to. */
function limitsOf(v: unknown): Record<string, number> {
  if (typeof v !== 'object' || v === null) return {}
  return Object.fromEntries(Object.entries(v).filter(([, n]) => Number.isInteger(n) && n > 0))
}

function read(): View {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(name) ?? '{}')
    const all: View = { ...usual, ...(typeof kept === 'object' ? kept : {}) }
    return { ...all, saved: Array.isArray(all.saved) ? all.saved.filter(isSaved) : [], limits: limitsOf(all.limits) }
  } catch {
    return usual
  }
}

/** Shows the theme that was chosen, or the system's. public/theme.js does the same before the first paint. */
function dress(): void {
  const dark =
    current.theme === 'dark' || (current.theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
}

/** How one likes to look at things now. */
export const view = (): View => current

export function setView(change: Partial<View>): void {
  current = { ...current, ...change }
  try {
    localStorage.setItem(name, JSON.stringify(current))
  } catch {
    // Then it lasts as long as the tab.
  }
  dress()
  for (const tell of watchers) tell()
}

/** Follows the system's theme and what other tabs choose. */
export function startView(): void {
  dress()
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', dress)
  addEventListener('storage', e => {
    if (e.key !== name) return
    current = read()
    dress()
    for (const tell of watchers) tell()
  })
}

export const useView = (): View =>
  useSyncExternalStore(f => {
    watchers.add(f)
    return () => watchers.delete(f)
  }, view)
