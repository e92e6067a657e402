import { type Patch, rereadSoon } from '../app/live/patches'

/** Each request has an inbox item, which is raised and resolved with it. */
export const approvalPatches: readonly Patch[] = [
  { on: ['inbox.'], apply: (_, cache) => rereadSoon(cache, ['approvals']) },
]
