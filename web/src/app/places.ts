import type { IconName } from '../ui/Icon'

export type PlaceId =
  | 'now'
  | 'inbox'
  | 'tasks'
  | 'agents'
  | 'sessions'
  | 'standups'
  | 'schedules'
  | 'spend'
  | 'settings'

export interface Place {
  id: PlaceId
  path: '/' | `/${Exclude<PlaceId, 'now'>}`
  icon: IconName
  /** The key after `g` that opens the page. */
  key?: string
}

/** The nine pages in their three groups, as the sidebar shows them. */
export const groups: readonly (readonly Place[])[] = [
  [
    { id: 'now', path: '/', icon: 'now', key: 'n' },
    { id: 'inbox', path: '/inbox', icon: 'inbox', key: 'i' },
    { id: 'tasks', path: '/tasks', icon: 'tasks', key: 't' },
  ],
  [
    { id: 'agents', path: '/agents', icon: 'agents', key: 'a' },
    { id: 'sessions', path: '/sessions', icon: 'sessions', key: 's' },
    { id: 'standups', path: '/standups', icon: 'standups', key: 'd' },
    { id: 'schedules', path: '/schedules', icon: 'schedules', key: 'c' },
    { id: 'spend', path: '/spend', icon: 'spend', key: 'p' },
  ],
  [{ id: 'settings', path: '/settings', icon: 'settings' }],
]

export const places: readonly Place[] = groups.flat()
