import { agentPatches } from '../agents/patches'
import { approvalPatches } from '../approvals/patches'
import { inboxPatches } from '../inbox/patches'
import { nowPatches } from '../now/patches'
import { schedulePatches } from '../schedules/patches'
import { sessionPatches } from '../sessions/patches'
import { settingsPatches } from '../settings/patches'
import { standupPatches } from '../standups/patches'
import { taskPatches } from '../tasks/patches'
import type { Patch } from './live/patches'
import { framePatches } from './queries'

/** The patches of all pages. A new page adds one line here. */
export const patches: readonly Patch[] = [
  ...framePatches,
  ...taskPatches,
  ...inboxPatches,
  ...approvalPatches,
  ...nowPatches,
  ...agentPatches,
  ...schedulePatches,
  ...standupPatches,
  ...sessionPatches,
  ...settingsPatches,
]
