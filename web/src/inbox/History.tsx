import { useInfiniteQuery } from '@tanstack/react-query'
import { inbox as inboxWords } from '../texts/inbox'
import { Age } from '../ui/Age'
import { LoadMore } from '../ui/LoadMore'
import { Answer } from '../ui/Views'
import { deedOf, noteOf } from './historyText'
import { historyQuery } from './queries'

const words = inboxWords

/** The history of an item, newest first. */
export function History({ id }: { id: string }) {
  const asked = useInfiniteQuery(historyQuery(id))
  return (
    <section aria-label={words.history}>
      <h3 className="mb-2 font-medium text-soft text-xs">{words.history}</h3>
      <Answer of={asked} rows={3} what={words.history.toLowerCase()}>
        {({ pages }) =>
          pages[0]?.rows.length === 0 ? (
            <p className="text-soft">{words.noHistory}</p>
          ) : (
            <ol className="flex flex-col gap-2">
              {pages
                .flatMap(p => p.rows)
                .map(e => (
                  <li key={e.id} className="grid grid-cols-[4.5rem_1fr] items-baseline gap-2">
                    <Age at={e.at} className="text-soft text-xs" say="ago" />
                    <div className="wrap-anywhere min-w-0">
                      <bdi className="font-medium">{e.actor.name}</bdi> <bdi>{deedOf(e)}</bdi>
                      {noteOf(e) && (
                        <p className="text-soft">
                          <bdi>{noteOf(e)}</bdi>
                        </p>
                      )}
                    </div>
                  </li>
                ))}
            </ol>
          )
        }
      </Answer>
      <LoadMore of={asked} />
    </section>
  )
}
