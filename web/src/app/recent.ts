import { session } from './session'

/** A visited task, session, agent, or other thing with a page of its own. */
export interface Visit {
  title: string
  href: string
}

const most = 6
// Only in memory, because titles may be confidential.
let visits: readonly Visit[] = []
session.onLeave(() => {
  visits = []
})

/** Returns the last visited things, the latest first. */
export const recentVisits = (): readonly Visit[] => visits

/** Notes a visit. Only the latest of a thing is kept. */
export function noteVisit(title: string, href: string): void {
  visits = [{ title, href }, ...visits.filter(v => v.href !== href && v.title !== title)].slice(0, most)
}
