import type { settings } from '../texts/settings'
import type { IconName } from '../ui/Icon'

export type PartId = keyof typeof settings.parts

export interface Part {
  id: PartId
  to: `/settings/${PartId}`
  icon: IconName
  /** Whether everyone may open it, not only the owner and admins. */
  all?: true
}

/** The pages of Settings, in their order. */
export const parts: readonly Part[] = [
  { id: 'account', to: '/settings/account', icon: 'user', all: true },
  { id: 'gateway', to: '/settings/gateway', icon: 'link', all: true },
  { id: 'users', to: '/settings/users', icon: 'agents' },
  { id: 'agents', to: '/settings/agents', icon: 'dependency' },
  { id: 'teams', to: '/settings/teams', icon: 'standups', all: true },
  { id: 'projects', to: '/settings/projects', icon: 'tasks', all: true },
  { id: 'retention', to: '/settings/retention', icon: 'archive' },
  { id: 'audit', to: '/settings/audit', icon: 'log' },
  { id: 'health', to: '/settings/health', icon: 'sessions', all: true },
]
