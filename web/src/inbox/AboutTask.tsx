import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { usePeople } from '../app/queries'
import { ReceiptOf } from '../receipts/Receipt'
import { nameOf, StatusMark } from '../tasks/Bits'
import { LatestReport } from '../tasks/LatestReport'
import { oneQuery } from '../tasks/queries'
import { texts } from '../texts'
import { inbox as inboxWords } from '../texts/inbox'
import { Age } from '../ui/Age'
import { Badge } from '../ui/State'

/** The task that an item is about: its title, status, and its agent's latest answer. Nothing without a task. */
export function AboutTask({ task: key }: { task: string | null }) {
  const people = usePeople()
  const task = useQuery({ ...oneQuery(key ?? ''), enabled: key !== null, retry: false }).data
  if (key === null) return null
  return (
    <section aria-label={inboxWords.subjectKind.task} className="flex flex-col gap-2 rounded-md border border-line p-3">
      <p className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <Link className="wrap-anywhere text-accent hover:underline" search={{ task: key }} to="/tasks">
          <span className="key">{task?.key ?? key}</span> <bdi>{task?.title}</bdi>
        </Link>
        {task && !task.blocked && <StatusMark of={task.status} />}
        {task?.blocked && (
          <Badge icon="blocked" tone="danger">
            {texts.tasks.blockedFor} <Age at={task.blocked.since} />
          </Badge>
        )}
        {task && <bdi className="text-soft">{nameOf(task.assignee_id, people)}</bdi>}
      </p>
      {task && <LatestReport people={people} task={task} />}
      {task?.status === 'review' && <ReceiptOf task={task.key} />}
    </section>
  )
}
