import { myZone } from '../app/format'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Age } from '../ui/Age'
import { type Job, zoneOf } from './job'
import { cell, head, heading, Wide } from './Small'
import { shortIn } from './times'

const words = scheduleTexts

/** The next runs of a job, in its time zone and the local one. */
export function NextRuns({ job }: { job: Job }) {
  const zone = zoneOf(job.schedule)
  const mine = myZone()
  if (job.next_runs.length === 0) return <p className="text-soft">{words.noNext}</p>
  return (
    <>
      <Wide label={words.tabs.next}>
        <thead className={head}>
          <tr>
            <th className={heading} scope="col">
              {words.inZone(zone)}
            </th>
            {mine !== zone && (
              <th className={heading} scope="col">
                {words.yours(mine)}
              </th>
            )}
            <th className={heading} scope="col">
              {words.at}
            </th>
          </tr>
        </thead>
        <tbody>
          {job.next_runs.map(n => (
            <tr key={n.at} className="border-line border-t">
              <td className={cell}>{shortIn(n.at, zone)}</td>
              {mine !== zone && <td className={cell}>{shortIn(n.at)}</td>}
              <td className={cell}>
                <Age at={n.at} />
              </td>
            </tr>
          ))}
        </tbody>
      </Wide>
      {job.next_runs.length === 1 && job.schedule.kind !== 'at' && (
        <p className="pt-2 text-soft text-xs">{words.onlyNext}</p>
      )}
    </>
  )
}
