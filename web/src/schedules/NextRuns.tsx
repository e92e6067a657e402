import { myZone } from '../app/format'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Age } from '../ui/Age'
import { type Job, zoneOf } from './job'
import { cell, Wide } from './Small'
import { shortIn } from './times'

const words = scheduleTexts

/** The next runs of a job, in its time zone and the local one. */
export function NextRuns({ job }: { job: Job }) {
  const zone = zoneOf(job.schedule)
  const mine = myZone()
  if (job.next_runs.length === 0) return <p className="text-soft">{words.noNext}</p>
  return (
    <>
      <Wide
        heads={mine === zone ? [words.inZone(zone), words.at] : [words.inZone(zone), words.yours(mine), words.at]}
        label={words.tabs.next}
      >
        {job.next_runs.map(n => (
          <tr key={n.at} className="border-line border-t">
            <td className={cell}>{shortIn(n.at, zone)}</td>
            {mine !== zone && <td className={cell}>{shortIn(n.at)}</td>}
            <td className={cell}>
              <Age at={n.at} />
            </td>
          </tr>
        ))}
      </Wide>
      {job.next_runs.length === 1 && job.schedule.kind !== 'at' && (
        <p className="pt-2 text-soft text-xs">{words.onlyNext}</p>
      )}
    </>
  )
}
