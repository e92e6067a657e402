import { useQuery } from '@tanstack/react-query'
import * as clock from '../app/clock'
import { shortIn } from '../app/format'
import { localTimes } from '../app/localTimes'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Answer, Partial } from '../ui/Views'
import type { Job } from './job'
import { shownSlots, slotsQuery } from './queries'
import { DotRow, SlotMark } from './SlotDots'
import { cell, Wide } from './Small'
import { lastSlots } from './slots'

const words = scheduleTexts

/** Maximum number of rows. */
const most = 200

/** The latest slots of a job, newest first. */
export function Slots({ job }: { job: Job }) {
  const asked = useQuery(slotsQuery(job))
  return (
    <Answer of={asked} rows={4} what={words.tabsWhat.slots}>
      {all => {
        const past = lastSlots(all, all.length, clock.now())
        const rows = past.slice(-most).reverse()
        if (rows.length === 0) return <p className="text-soft">{words.noSlotsIn}</p>
        return (
          <div className="flex flex-col gap-2">
            <DotRow slots={past.slice(-shownSlots)} />
            {past.length > most && <Partial>{words.slotsCut}</Partial>}
            <Wide heads={[words.dueAt, words.became, words.began]} label={words.tabs.slots}>
              {rows.map(s => (
                <tr key={s.due_at} className="border-line border-t">
                  <td className={cell}>{shortIn(s.due_at)}</td>
                  <td className="wrap-anywhere min-w-36 py-1 pr-4">
                    <SlotMark of={s.state} />
                    {s.reason && <bdi className="block text-soft">{localTimes(s.reason, s.due_at)}</bdi>}
                  </td>
                  <td className={cell}>{s.started_at ? shortIn(s.started_at) : '–'}</td>
                </tr>
              ))}
            </Wide>
          </div>
        )
      }}
    </Answer>
  )
}
