import { type QueryClient, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { useKeys } from '../app/keys'
import { known } from '../app/prefetch'
import { isConnected, leads, queries, useMe } from '../app/queries'
import { useTitle } from '../app/title'
import { useGo } from '../app/useGo'
import { texts } from '../texts'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Age } from '../ui/Age'
import { Button, buttonClass } from '../ui/Button'
import { GatewayLine } from '../ui/GatewayLine'
import { Icon } from '../ui/Icon'
import { useHeldRows } from '../ui/useHeldRows'
import { Answer, Empty, NewRows, NoneFit, Partial, Skeleton } from '../ui/Views'
import { AddStandup } from './AddStandup'
import { Create } from './Create'
import { JobTable } from './JobTable'
import { fits, type Job, openMisses, sorted } from './job'
import { Panel } from './Panel'
import { dayQuery, jobsQuery } from './queries'
import type { Go, JobSearch } from './search'
import { Toolbar } from './Toolbar'

const schedulesRoute = getRouteApi('/frame/schedules')

const words = scheduleTexts
const noForm: JobSearch = { form: undefined }

/** Prefetches the jobs. */
export async function ask(cache: QueryClient): Promise<void> {
  if (isConnected(cache)) await known(cache, jobsQuery)
}

/** The scheduled jobs, with one of them beside the list. */
export function SchedulesPage() {
  const search = schedulesRoute.useSearch()
  const may = leads(useMe().data)
  // Jobs are requested only once it is known that a gateway is configured.
  const gateway = useQuery(queries.gateway)
  const unset = gateway.data?.state === 'not_configured'
  const asked = useQuery({ ...jobsQuery, enabled: !gateway.isPending && !unset })
  const go: Go = useGo('/schedules')
  const open = useCallback(
    (id: string | undefined) => go({ job: id, tab: undefined, form: undefined }, id === undefined),
    [go],
  )
  const opened = asked.data?.rows.find(j => j.id === search.job)
  useTitle(opened?.name, texts.app.places.schedules)
  useKeys(may ? [{ keys: 'c', label: words.keys.create, run: () => go({ form: 'new' }) }] : [])
  const close = useCallback(() => {
    const name = opened?.name
    open(undefined)
    // Returns the focus to the row of the closed job.
    setTimeout(() => document.querySelector<HTMLElement>(`[data-task="${CSS.escape(name ?? '')}"]`)?.focus())
  }, [open, opened?.name])
  return (
    <div className="flex h-full min-h-0">
      <div className="flex min-w-0 grow flex-col">
        <h2 className="sr-only">{texts.app.places.schedules}</h2>
        {unset ? (
          <NoGateway />
        ) : (
          <>
            <GatewayLine>{texts.app.live.gatewayHelp}</GatewayLine>
            <Answer of={asked} what={words.what}>
              {page =>
                page.rows.length === 0 ? (
                  <NoJobs go={go} may={may} />
                ) : (
                  <Shown cut={page.next !== null} go={go} jobs={page.rows} may={may} onOpen={open} search={search} />
                )
              }
            </Answer>
          </>
        )}
      </div>
      {search.job && !unset && (
        <Panel
          key={search.job}
          form={search.form === 'edit' || search.form === 'delete' ? search.form : undefined}
          go={go}
          id={search.job}
          onClose={close}
          tab={search.tab ?? 'runs'}
        />
      )}
      {!unset && (
        <>
          <Create
            onClose={() => go(noForm, true)}
            onDone={id => go({ ...noForm, job: id })}
            open={search.form === 'new'}
          />
          <AddStandup
            onClose={() => go(noForm, true)}
            onDone={id => go({ ...noForm, job: id })}
            open={search.form === 'standup'}
          />
        </>
      )}
    </div>
  )
}

/** Jobs belong to the runtime, so without a gateway there are none. This is not an error. */
function NoGateway() {
  return (
    <Empty
      action={
        <Link className={buttonClass('primary')} to="/settings/gateway">
          <Icon name="settings" />
          {words.unset.settings}
        </Link>
      }
      icon="schedules"
      title={words.unset.title}
    >
      {words.unset.text}
    </Empty>
  )
}

interface ShownProps {
  jobs: readonly Job[]
  cut: boolean
  may: boolean
  search: JobSearch
  go: Go
  onOpen: (id: string) => void
}

const idOf = (j: Job) => j.id

function Shown({ jobs, cut, may, search, go, onOpen }: ShownProps) {
  const { q, agent, show } = search
  const asked = useQuery(dayQuery)
  const day = asked.data
  const fitting = useMemo(() => {
    const missed = new Set(openMisses(day?.slots ?? [], jobs).map(s => s.job_id))
    return sorted(
      jobs.filter(j => fits(j, { q, agent, show }, missed)),
      missed,
    )
  }, [jobs, q, agent, show, day])
  const held = useHeldRows(fitting, idOf, `${q} ${agent} ${show}`, false)
  const old = jobs.find(j => !j.live)
  const rows = held.rows ?? fitting
  return (
    <>
      <Toolbar go={go} jobs={jobs} may={may} search={search} />
      {old && (
        <Partial>
          {words.lastSeen} <Age at={old.as_of} /> {texts.ui.ago}
        </Partial>
      )}
      {cut && <Partial>{words.tooMany}</Partial>}
      <NewRows count={held.waiting} onShow={held.show} />
      {rows.length === 0 && show === 'missed' && asked.isPending ? (
        <Skeleton label={`${texts.ui.loading} ${words.what}`} />
      ) : rows.length === 0 ? (
        <NoneFit
          clear={words.filters.clear}
          onClear={() => go({ q: undefined, agent: undefined, show: undefined })}
          title={words.noneFit}
        />
      ) : (
        <JobTable go={go} jobs={rows} onOpen={onOpen} opened={search.job} />
      )}
    </>
  )
}

function NoJobs({ may, go }: { may: boolean; go: Go }) {
  return (
    <Empty
      action={
        may ? (
          <span className="flex flex-wrap justify-center gap-2">
            <Button icon="standups" look="primary" onClick={() => go({ form: 'standup' })}>
              {words.addStandup}
            </Button>
            <Button icon="plus" onClick={() => go({ form: 'new' })}>
              {words.create}
            </Button>
          </span>
        ) : (
          <p className="text-soft">{words.whoMay}</p>
        )
      }
      icon="schedules"
      title={words.emptyTitle}
    >
      {words.emptyText}
    </Empty>
  )
}
