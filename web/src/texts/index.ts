import { app } from './app'
import { login } from './login'
import { tasks } from './tasks'
import { ui } from './ui'

/** Every sentence of the dashboard. A place has a file of its own here. */
export const texts = { app, ui, login, tasks } as const
