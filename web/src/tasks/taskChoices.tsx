import { useQuery } from '@tanstack/react-query'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { Face } from '../ui/Face'
import type { Choice } from '../ui/Field'
import { type Look, State } from '../ui/State'
import { priorityLook, statusLook } from './Bits'
import { projectsQuery } from './queries'
import { priorities, statuses, type TaskCard, types } from './task'

const words = texts.tasks

const choice = <T extends string>(value: T, names: Record<T, string>, look?: Record<T, Look>): Choice => ({
  value,
  label: names[value],
  ...(look ? { mark: <State {...look[value]} /> } : {}),
})

export const statusChoices = statuses.map(s => choice(s, words.status, statusLook))
/** Returns the statuses, with that of a blocked task marked. */
export const statusChoicesOf = ({ status, blocked }: Pick<TaskCard, 'status' | 'blocked'>): Choice[] =>
  statusChoices.map(c => (blocked && c.value === status ? { ...c, mark: <State icon="blocked" tone="danger" /> } : c))
export const priorityChoices = priorities.map(p => choice(p, words.priority, priorityLook))
export const typeChoices = types.map(t => choice(t, words.type))

export const personChoices = (people: readonly Person[]): Choice[] =>
  people.map(p => ({ value: p.id, label: p.name, mark: <Face agent={p.agent} name={p.name} /> }))

/** Returns "No project" and the projects, with the chosen one even if it is archived; none if there are no projects. */
export function useProjectChoices(chosen: string | null): Choice[] | null {
  const projects = useQuery(projectsQuery).data ?? []
  if (projects.length === 0 && chosen === null) return null
  const gone = chosen !== null && !projects.some(p => p.id === chosen)
  return [
    { value: '', label: words.noProject },
    ...(gone ? [{ value: chosen, label: words.someProject }] : []),
    ...projects.map(p => ({ value: p.id, label: p.name })),
  ]
}
