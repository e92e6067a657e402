import { app } from './app'
import { login } from './login'
import { spend } from './spend'
import { tasks } from './tasks'
import { ui } from './ui'

/** Every sentence of the dashboard. A place has a file of its own here. */
export const texts = { app, ui, login, spend, tasks } as const
