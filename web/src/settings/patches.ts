import { type Patch, rereadSoon } from '../app/live/patches'

/** Settings are small and change rarely, so events just refetch them. */
export const settingsPatches: readonly Patch[] = [
  {
    on: ['agentrt.status'],
    apply: (_, cache) => {
      rereadSoon(cache, ['gateway', 'pairing'])
      for (const what of ['jobs', 'sessions', 'schedule']) rereadSoon(cache, ['settings', what])
    },
  },
  {
    on: ['settings.'],
    apply: (_, cache) => {
      for (const what of ['service', 'retention']) rereadSoon(cache, ['settings', what])
    },
  },
  { on: ['login.'], apply: (_, cache) => rereadSoon(cache, ['settings', 'devices']) },
  { on: ['pairing.'], apply: (_, cache) => rereadSoon(cache, ['gateway', 'pairing']) },
  {
    on: ['key.'],
    apply: (_, cache) => rereadSoon(cache, ['settings', 'keys']),
  },
  {
    on: ['project.'],
    apply: (_, cache) => {
      for (const key of [['settings', 'projects'], ['projects']]) rereadSoon(cache, key)
    },
  },
  { on: ['team.'], apply: (_, cache) => rereadSoon(cache, ['settings', 'teams']) },
  { on: ['retention.'], apply: (_, cache) => rereadSoon(cache, ['settings', 'retention']) },
  {
    on: ['jobs.changed', 'schedule.'],
    apply: (_, cache) => {
      for (const what of ['jobs', 'schedule']) rereadSoon(cache, ['settings', what])
    },
  },
  {
    // All kinds of audit events. Each reaches only users who may read it.
    on: [
      'login.',
      'password.',
      'user.',
      'key.',
      'pairing.',
      'retention.',
      'prices.',
      'service.',
      'schedule.',
      'settings.',
    ],
    apply: (_, cache) => rereadSoon(cache, ['settings', 'audit']),
  },
]
