import { createRouter } from '@tanstack/react-router'
import { agentsRoute } from '../agents/route'
import { Frame } from '../frame/Frame'
import { PageFailed } from '../frame/PageFailed'
import { inboxRoute } from '../inbox/route'
import { loginRoute, registerRoute, setupRoute, signInLinkRoute } from '../login/route'
import { nowRoute } from '../now/route'
import { schedulesRoute } from '../schedules/route'
import { sessionRoute, sessionsRoute } from '../sessions/route'
import { settingsRoute } from '../settings/route'
import { spendRoute } from '../spend/route'
import { standupRoute, standupsRoute } from '../standups/route'
import { taskRoute, tasksRoute } from '../tasks/route'
import { welcomeRoute } from '../welcome/route'
import { home } from './base'
import { frameRoute, rootRoute, unknownRoute } from './rootRoutes'
import { startScroll } from './scroll'

const tree = rootRoute.addChildren([
  loginRoute,
  registerRoute,
  setupRoute,
  signInLinkRoute,
  frameRoute
    .update({ component: Frame })
    .addChildren([
      nowRoute,
      inboxRoute,
      tasksRoute,
      taskRoute,
      agentsRoute,
      sessionsRoute,
      sessionRoute,
      standupsRoute,
      standupRoute,
      schedulesRoute,
      spendRoute,
      settingsRoute,
      welcomeRoute,
      unknownRoute,
    ]),
])

export const router = createRouter({
  routeTree: tree,
  basepath: home || '/',
  // Readable search parameters, such as ?status=todo,review, instead of JSON.
  parseSearch: text => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: search => {
    const params = new URLSearchParams()
    for (const [name, value] of Object.entries(search)) {
      if (value !== undefined && value !== null && value !== '') params.set(name, String(value))
    }
    const text = params.toString().replaceAll('%2C', ',').replaceAll('%2F', '/')
    return text && `?${text}`
  },
  // Session keys contain colons: agent:cto:main.
  pathParamsAllowedCharacters: [':'],
  defaultPreload: 'intent',
  defaultErrorComponent: PageFailed,
  // The frame appears at once, and an empty page until the page's module has loaded.
  defaultPendingComponent: () => null,
  defaultPendingMs: 0,
  defaultPendingMinMs: 0,
  // Elements scroll, not the window. See scroll.ts.
  scrollRestoration: false,
})

startScroll(router)

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
