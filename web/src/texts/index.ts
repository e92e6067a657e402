import { app } from './app'
import { tasks } from './tasks'
import { ui } from './ui'

/** The sentences that the first page needs. Those of the other places come with their place: a file for each, imported there. */
export const texts = { app, ui, tasks } as const
