import { useQuery } from '@tanstack/react-query'
import { usePeople } from '../app/queries'
import { texts } from '../texts'
import { now as nowWords } from '../texts/now'
import { Age } from '../ui/Age'
import { TextLink } from '../ui/TextLink'
import { Answer } from '../ui/Views'
import { activityOf } from './activity'
import { Card, Nothing } from './Card'
import { activityQuery } from './queries'

const words = nowWords.activity

/** Maximum number of lines. */
const most = 8

/** What happened last: reports, moves, decisions, standups, and failures. */
export function Activity({ className }: { className: string }) {
  const asked = useQuery(activityQuery)
  const people = usePeople()
  return (
    <Card className={className} title={words.title} to={{ path: '/tasks', label: texts.app.places.tasks }}>
      <Answer of={asked} rows={3} what={words.what}>
        {events => {
          const deeds = events.flatMap(e => activityOf(e, people) ?? []).slice(0, most)
          if (deeds.length === 0) return <Nothing title={words.none} />
          return (
            <ul>
              {deeds.map(d => (
                <li
                  key={d.id}
                  className="flex min-h-8 items-baseline gap-3 border-line border-b px-3 py-1 last:border-b-0"
                >
                  <p className="wrap-anywhere min-w-0 grow">
                    {d.who && (
                      <>
                        <bdi className="font-medium">{d.who}</bdi> {d.deed}{' '}
                      </>
                    )}
                    <TextLink href={d.href}>
                      <bdi>{d.what}</bdi>
                    </TextLink>{' '}
                    {d.after}
                  </p>
                  <Age at={d.at} className="shrink-0 text-soft text-xs" />
                </li>
              ))}
            </ul>
          )
        }}
      </Answer>
    </Card>
  )
}
