import { app } from './app'
import { login } from './login'
import { sessions } from './sessions'
import { tasks } from './tasks'
import { ui } from './ui'

/** Every sentence of the dashboard. A place has a file of its own here. */
export const texts = { app, ui, tasks, login, sessions } as const
