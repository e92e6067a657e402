import { Link, useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import { useTaskDialogs } from '../acting/useTaskDialogs'
import { useMe } from '../app/queries'
import { ItemList } from '../inbox/ItemList'
import { needs, type Told, taskOf } from '../inbox/item'
import { useItemActions } from '../inbox/useItemActions'
import { useFitting, useItems } from '../inbox/useItems'
import { now as nowWords } from '../texts/now'
import { Answer, NewRows } from '../ui/Views'
import { Card, Nothing } from './Card'
import { Reviews, useReviews } from './Reviews'

const words = nowWords.needs
/** Maximum number of items, and of reviews, shown. The inbox and the board have the others. */
const most = 6
const filters = {}
const reviewItems = { kind: 'task_review', state: 'open,acked,snoozed' }

/** The items that need the user, most urgent first, and the tasks in Review, with their actions. */
export function NeedsYou({ className }: { className: string }) {
  const navigate = useNavigate()
  const verbs = useItemActions()
  const [askTask, dialogs] = useTaskDialogs()
  const me = useMe().data?.id
  const needed = useCallback((i: Told) => needs(i, me), [me])
  const { asked, waiting, show } = useItems(filters, needed)
  // Also items that are snoozed, acknowledged, or assigned to someone else: their tasks don't need the user now.
  const aside = useFitting(reviewItems).fitting?.filter(i => !needed(i))
  const shown = asked.data?.filter(i => i.kind === 'task_review') ?? []
  const waitingReviews = useReviews(new Set([...shown, ...(aside ?? [])].flatMap(i => taskOf(i) ?? [])))
  const reviews = aside ? waitingReviews : []
  return (
    <Card className={className} title={words.title} to={{ path: '/inbox', label: words.toInbox }}>
      <NewRows count={waiting} onShow={show} />
      <Answer of={asked} rows={3} what={words.what}>
        {items =>
          items.length + reviews.length === 0 ? (
            <Nothing title={words.none}>{words.noneHelp}</Nothing>
          ) : (
            <div className="[&>:last-child_li:last-child]:border-b-0">
              {items.length > 0 && (
                <ItemList
                  items={items.slice(0, most)}
                  onOpen={item => void navigate({ to: '/inbox', search: { item } })}
                  verbs={verbs}
                />
              )}
              {items.length > most && (
                <p className="border-line border-b px-3 py-1.5">
                  <Link className="text-accent hover:underline" to="/inbox">
                    {words.more(items.length - most)}
                  </Link>
                </p>
              )}
              <Reviews onSendBack={key => askTask('sendBack', key)} tasks={reviews.slice(0, most)} />
              {reviews.length > most && (
                <p className="px-3 py-1.5">
                  <Link className="text-accent hover:underline" search={{ status: 'review' }} to="/tasks">
                    {words.moreReviews(reviews.length - most)}
                  </Link>
                </p>
              )}
            </div>
          )
        }
      </Answer>
      {verbs.questions}
      {dialogs}
    </Card>
  )
}
