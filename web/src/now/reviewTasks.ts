import type { TaskCard } from '../tasks/task'

/** Returns the tasks in Review without those that have an inbox item, by key; longest waiting first. */
export const toReview = (tasks: readonly TaskCard[], withItem: ReadonlySet<string>): TaskCard[] =>
  tasks
    .filter(t => t.status === 'review' && t.archived_at === null && !withItem.has(t.key))
    .sort((a, b) => (a.moved_at < b.moved_at ? -1 : a.moved_at > b.moved_at ? 1 : 0))
