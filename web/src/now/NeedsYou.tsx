import { Link, useNavigate } from '@tanstack/react-router'
import { ItemList } from '../inbox/ItemList'
import { useItemActions } from '../inbox/useItemActions'
import { needsMe, useItems } from '../inbox/useItems'
import { now as nowWords } from '../texts/now'
import { Answer, NewRows } from '../ui/Views'
import { Card, Nothing } from './Card'

const words = nowWords.needs
/** Maximum number of items shown. The inbox has the others. */
const most = 12

/** The items that need the user, most urgent first, with their actions. */
export function NeedsYou({ className }: { className: string }) {
  const navigate = useNavigate()
  const verbs = useItemActions()
  const { asked, waiting, show } = useItems(needsMe)
  return (
    <Card className={className} title={words.title} to={{ path: '/inbox', label: words.toInbox }}>
      <NewRows count={waiting} onShow={show} />
      <Answer of={asked} rows={3} what={words.what}>
        {items =>
          items.length === 0 ? (
            <Nothing title={words.none}>{words.noneHelp}</Nothing>
          ) : (
            <div className="[&>:last-child_li:last-child]:border-b-0">
              <ItemList
                items={items.slice(0, most)}
                onOpen={item => void navigate({ to: '/inbox', search: { item } })}
                verbs={verbs}
              />
              {items.length > most && (
                <p className="px-3 py-1.5">
                  <Link className="text-accent hover:underline" to="/inbox">
                    {words.more(items.length - most)}
                  </Link>
                </p>
              )}
            </div>
          )
        }
      </Answer>
      {verbs.questions}
    </Card>
  )
}
