import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ReviewActions } from '../acting/ReviewActions'
import { usePeople } from '../app/queries'
import { nameOf, statusLook } from '../tasks/Bits'
import { listQuery } from '../tasks/queries'
import type { TaskCard } from '../tasks/task'
import { texts } from '../texts'
import { now as nowWords } from '../texts/now'
import { Age } from '../ui/Age'
import { Icon } from '../ui/Icon'
import { toReview } from './reviewTasks'

const words = nowWords.needs

/** Returns the tasks in Review that have no inbox item yet, longest waiting first. */
export function useReviews(withItem: ReadonlySet<string>): TaskCard[] {
  const pages = useInfiniteQuery(listQuery({ status: 'review' })).data?.pages
  return toReview(pages?.flatMap(p => p.rows) ?? [], withItem)
}

/** Tasks in Review, with their actions. */
export function Reviews({ tasks, onSendBack }: { tasks: readonly TaskCard[]; onSendBack: (key: string) => void }) {
  const people = usePeople()
  if (tasks.length === 0) return null
  return (
    <ul aria-label={texts.tasks.status.review} className="@container">
      {tasks.map(t => (
        <li
          key={t.id}
          className="flex flex-col gap-x-4 gap-y-2 border-line border-b px-3 py-2.5 hover:bg-hover @3xl:flex-row @3xl:items-center"
        >
          <div className="flex min-w-0 grow flex-col gap-0.5">
            <Link
              className="-my-[3px] flex min-w-0 items-start gap-2 py-[3px] font-medium hover:underline"
              search={{ task: t.key }}
              title={t.title}
              to="/tasks"
            >
              <Icon className="mt-0.5 text-soft" name={statusLook.review.icon} />
              <bdi className="wrap-anywhere line-clamp-2 leading-snug">{t.title}</bdi>
            </Link>
            <span className="flex min-w-0 flex-wrap gap-x-3 pl-6 text-soft text-xs">
              <span className="key">{t.key}</span>
              <bdi>{nameOf(t.assignee_id, people)}</bdi>
              <span>
                {words.inReview} <Age at={t.moved_at} />
              </span>
            </span>
          </div>
          <span className="flex shrink-0 flex-wrap items-center gap-2 pl-6 @3xl:pl-0">
            <ReviewActions quiet onSendBack={() => onSendBack(t.key)} task={t} />
          </span>
        </li>
      ))}
    </ul>
  )
}
