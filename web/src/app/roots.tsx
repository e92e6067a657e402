import { createRootRoute, createRoute, Outlet, redirect } from '@tanstack/react-router'
import { Frame } from '../frame/Frame'
import { Broken, UnknownPage } from '../frame/Pages'
import { session } from './session'

export const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: UnknownPage, errorComponent: Broken })

/** What is behind the login: every place is a child of this. */
export const frameRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'frame',
  beforeLoad: ({ location }) => {
    if (session.token() !== null) return
    const back = location.href === '/' ? undefined : location.href
    throw redirect({ to: '/login', search: back ? { back } : {}, replace: true })
  },
  component: Frame,
  notFoundComponent: UnknownPage,
})

/** A text of the address, or undefined; whoever reads search parameters begins here. */
export const textParam = (v: unknown): string | undefined => (typeof v === 'string' && v !== '' ? v : undefined)

/** One of some words of the address, or undefined. */
export const wordParam = <T extends string>(v: unknown, words: readonly T[]): T | undefined => words.find(w => w === v)

/** Some of some words, parted by commas, or undefined. */
export function wordsParam<T extends string>(v: unknown, words: readonly T[]): T[] | undefined {
  if (typeof v !== 'string') return Array.isArray(v) ? wordsParam(v.join(','), words) : undefined
  const found = words.filter(w => v.split(',').includes(w))
  return found.length > 0 ? found : undefined
}

/** Without what is undefined, as the router's types want it. */
export function given<T extends object>(of: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(of).filter(([, v]) => v !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
