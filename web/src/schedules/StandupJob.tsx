import { useQuery } from '@tanstack/react-query'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Answer } from '../ui/Views'
import { teamOf } from './job'
import { standupQuery } from './queries'

const words = scheduleTexts.standup

/** Details of a standup job, and possible problems. */
export function StandupJob({ name }: { name: string }) {
  const asked = useQuery(standupQuery(teamOf(name)))
  return (
    <section aria-label={words.title} className="hairline flex flex-col gap-2 rounded-md bg-panel px-3 py-2">
      <h3 className="font-semibold">{words.title}</h3>
      <Answer of={asked} rows={3} what={words.what}>
        {s => (
          <>
            {s.warnings.length > 0 && (
              <div className="text-attention">
                <p className="font-medium">{words.warnings}</p>
                <ul className="list-disc pl-5">
                  {s.warnings.map(w => (
                    <li key={w} className="wrap-anywhere">
                      {w}
                    </li>
                  ))}
                </ul>
              </div>
            )}
            <dl className="grid grid-cols-[8rem_1fr] gap-x-3 gap-y-1">
              {s.service_url && (
                <>
                  <dt className="text-soft">{words.url}</dt>
                  <dd className="key wrap-anywhere min-w-0 whitespace-normal!">{s.service_url}</dd>
                </>
              )}
              <dt className="text-soft">{words.variable}</dt>
              <dd className="key wrap-anywhere min-w-0 whitespace-normal!">{s.variable}</dd>
            </dl>
            <p className="text-soft">
              {words.variableNote(s.variable)} {s.fallback ? words.fallback : words.noFallback}
            </p>
          </>
        )}
      </Answer>
    </section>
  )
}
