import { app } from './app'
import { inbox } from './inbox'
import { login } from './login'
import { now } from './now'
import { standups } from './standups'
import { tasks } from './tasks'
import { ui } from './ui'

/** Every sentence of the dashboard. A place has a file of its own here. */
export const texts = { app, ui, login, tasks, inbox, now, standups } as const
