import { useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, take } from '../api/client'
import { useGatewayLacks } from '../app/gatewayLacks'
import { leads, useMe } from '../app/queries'
import { schedules as scheduleTexts } from '../texts/schedules'
import type { MenuGroup } from '../ui/Menu'
import { say, sayFailed } from '../ui/toast'
import type { Job } from './job'
import { jobsQuery, putJob } from './queries'
import type { Go } from './search'

const words = scheduleTexts

/** Returns the actions of a job, for its row and its panel. */
export function useJobActions(go: Go) {
  const cache = useQueryClient()
  const may = leads(useMe().data)
  const lacks = useGatewayLacks()
  return useMemo(() => {
    const send = (job: Job, enabled: boolean) =>
      take(api.PATCH('/api/v1/agentrt/jobs/{id}', { params: { path: { id: job.id } }, body: { enabled } }))
    const turn = (job: Job, enabled: boolean) => {
      putJob(cache, { ...job, enabled })
      send(job, enabled).then(
        now => {
          putJob(cache, now)
          say(enabled ? words.switchedOn(job.name) : words.switchedOff(job.name), () => {
            send(now, !enabled).then(
              back => putJob(cache, back),
              err => sayFailed(err, words.couldNot(job.name)),
            )
          })
        },
        err => {
          putJob(cache, job)
          sayFailed(err, words.couldNot(job.name))
          void cache.invalidateQueries({ queryKey: jobsQuery.queryKey })
        },
      )
    }
    const run = (job: Job) =>
      take(api.POST('/api/v1/agentrt/jobs/{id}/run', { params: { path: { id: job.id } } })).then(
        () => say(words.started(job.name)),
        err => sayFailed(err, job.name),
      )
    const menu = (job: Job): MenuGroup[] => [
      {
        items: [
          {
            id: 'run',
            label: words.runNow,
            icon: 'play',
            disabled: !may || lacks.jobs !== null,
            onSelect: () => void run(job),
          },
          {
            id: 'edit',
            label: words.edit,
            icon: 'pencil',
            disabled: !may || job.schedule.kind !== 'cron',
            onSelect: () => go({ job: job.id, form: 'edit' }),
          },
        ],
      },
      {
        items: [
          {
            id: 'delete',
            label: words.remove,
            icon: 'close',
            danger: true,
            disabled: !may,
            onSelect: () => go({ job: job.id, form: 'delete' }),
          },
        ],
      },
    ]
    return { turn, run, menu, may }
  }, [cache, may, go, lacks.jobs])
}
