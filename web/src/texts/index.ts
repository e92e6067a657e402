import { app } from './app'
import { tasks } from './tasks'
import { ui } from './ui'

/** The texts in the first load. Each page imports its own texts, so the first load stays small. */
export const texts = { app, ui, tasks } as const
