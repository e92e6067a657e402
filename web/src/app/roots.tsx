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

/** Whatever is no place: a page within the frame, so that one gets on from there. */
export const unknownRoute = createRoute({ getParentRoute: () => frameRoute, path: '$', component: UnknownPage })

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

/**
 * The parameters of an address, as its route reads them. What was refused stays
 * here as undefined: the router would put the raw text in its place otherwise.
 */
export const params = <T extends object>(of: T): { [K in keyof T]?: T[K] } => of
