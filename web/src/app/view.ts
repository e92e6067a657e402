import { useSyncExternalStore } from 'react'
import { storedName } from './base'

/** Display preferences. Besides the token, the only data stored on this machine. */
export interface View {
  theme: 'system' | 'light' | 'dark'
  tasks: 'board' | 'table'
  /** Whether single-key shortcuts are on. They get in the way of speech input. */
  keys: boolean
  /** Whether Now shows the reminder about unfinished first steps. */
  firstSteps: boolean
  /** Named views of the task list. */
  saved: readonly SavedView[]
  /** Maximum number of tasks per board column, by status. */
  limits: Readonly<Record<string, number>>
}

/** A named set of search parameters of the task page. */
export interface SavedView {
  name: string
  /** Search parameters, such as `priority=high&view=table`. */
  search: string
}

const name = storedName('wardroom.view')
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

/** Keeps only valid limits: positive integers. */
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

/** Applies the theme. public/theme.js does the same before the first paint. */
function dress(): void {
  const dark =
    current.theme === 'dark' || (current.theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
}

/** The current preferences. */
export const view = (): View => current

export function setView(change: Partial<View>): void {
  current = { ...current, ...change }
  try {
    localStorage.setItem(name, JSON.stringify(current))
  } catch {
    // Storage is blocked: preferences last as long as the tab.
  }
  dress()
  for (const tell of watchers) tell()
}

/** Follows the system's theme and changes made in other tabs. */
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
