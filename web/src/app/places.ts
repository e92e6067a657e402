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
  /** The key after g that goes there. */
  key?: string
}

/** The nine places, in their three groups, as the rail shows them. */
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
