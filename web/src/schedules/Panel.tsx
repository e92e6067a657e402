import { useQuery } from '@tanstack/react-query'
import { Problem } from '../api/problem'
import * as clock from '../app/clock'
import { shortIn } from '../app/format'
import { localTimes } from '../app/localTimes'
import { texts } from '../texts'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Age } from '../ui/Age'
import { Button, IconButton } from '../ui/Button'
import { Icon } from '../ui/Icon'
import { Markdown } from '../ui/Markdown'
import { Menu } from '../ui/Menu'
import { SidePanel } from '../ui/SidePanel'
import { Tabs } from '../ui/Tabs'
import { sessionHref, TextLink } from '../ui/TextLink'
import { Answer, Empty, Partial } from '../ui/Views'
import { useJobActions } from './actions'
import { Definition } from './Definition'
import { Edit } from './Edit'
import { LastResult, RunNow } from './JobTable'
import { isStandupJob, type Job, missedSlot } from './job'
import { jobQuery, lastRunQuery, slotsQuery } from './queries'
import { Remove } from './Remove'
import { Runs } from './Runs'
import { Slots } from './Slots'
import { AgentName } from './Small'
import { StandupJob } from './StandupJob'
import { Switch } from './Switch'
import type { Go, tabs } from './search'

const words = scheduleTexts

interface Props {
  id: string
  tab: (typeof tabs)[number]
  form: 'edit' | 'delete' | undefined
  go: Go
  onClose: () => void
}

/** A job beside the list, or over it on a phone. */
export function Panel({ id, tab, form, go, onClose }: Props) {
  const asked = useQuery(jobQuery(id))
  const { menu } = useJobActions(go)
  const gone = asked.error instanceof Problem && asked.error.status === 404
  return (
    <>
      <SidePanel
        header={
          <>
            <span className="min-w-0 grow truncate text-soft">
              {asked.data && <AgentName id={asked.data.agentId} />}
            </span>
            {asked.data && !gone && isKnown(asked.data) && (
              <Menu
                groups={menu(asked.data)}
                trigger={<IconButton icon="more" label={words.actions(asked.data.name)} />}
              />
            )}
          </>
        }
        label={asked.data?.name ?? words.oneWhat}
        onClose={onClose}
        width="lg:w-[34rem]"
      >
        {gone ? (
          <Empty icon="schedules" title={words.gone}>
            {words.goneText}
          </Empty>
        ) : (
          <Answer of={asked} what={words.oneWhat}>
            {job => <Parts go={go} job={job} tab={tab} />}
          </Answer>
        )}
      </SidePanel>
      {/* Outside the panel, so that Escape in a dialog doesn't close the panel. */}
      {asked.data && !gone && (
        <>
          <Edit job={asked.data} onClose={() => go({ form: undefined }, true)} open={form === 'edit'} />
          <Remove
            job={asked.data}
            onClose={() => go({ form: undefined }, true)}
            onGone={() => go({ form: undefined, job: undefined, tab: undefined }, true)}
            open={form === 'delete'}
          />
        </>
      )}
    </>
  )
}

/** Returns whether the job's definition is known. Otherwise the page is made of its runs. */
const isKnown = (job: Job): boolean => job.schedule.kind !== ''

function Parts({ job, tab, go }: { job: Job; tab: Props['tab']; go: Go }) {
  const known = isKnown(job)
  return (
    <div className="flex flex-col gap-4">
      <div>
        <h2 className="wrap-anywhere font-semibold text-lg">
          <bdi>{job.name}</bdi>
        </h2>
        {job.description && (
          <p className="wrap-anywhere text-soft">
            <bdi>{job.description}</bdi>
          </p>
        )}
      </div>
      {!job.live && (
        <Partial>
          {words.lastSeen} <Age at={job.as_of} /> {texts.ui.ago}
        </Partial>
      )}
      {known && <Verbs go={go} job={job} />}
      <Trouble job={job} />
      {job.schedule.kind !== 'cron' && (
        <p className="hairline rounded-md bg-panel px-3 py-2">
          {known ? words.notEdited(words.kinds[job.schedule.kind] ?? job.schedule.kind) : job.unwatched_because}
        </p>
      )}
      {known && isStandupJob(job.name) && <StandupJob name={job.name} />}
      {known && <Definition job={job} />}
      <Tabs
        label={job.name}
        onChange={next => go({ tab: next }, true)}
        tabs={[
          { id: 'runs', label: words.tabs.runs, panel: () => <Runs job={job} /> },
          { id: 'slots', label: words.tabs.slots, panel: () => <Slots job={job} /> },
        ]}
        value={tab}
      />
    </div>
  )
}

/** The actions of a job. */
function Verbs({ job, go }: { job: Job; go: Go }) {
  const { turn, run, may } = useJobActions(go)
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Switch disabled={!may} label={words.switchLabel(job.name)} on={job.enabled} onChange={on => turn(job, on)} />
      <span className="mr-auto">{job.enabled ? words.filters.enabled : words.filters.disabled}</span>
      {may ? (
        <>
          <RunNow job={job} run={run} />
          {job.schedule.kind === 'cron' && (
            <Button icon="pencil" onClick={() => go({ form: 'edit' })}>
              {words.edit}
            </Button>
          )}
        </>
      ) : (
        <span className="text-soft text-xs">{words.whoMay}</span>
      )}
    </div>
  )
}

/** Why the job failed or missed its last slot; otherwise its last result. */
function Trouble({ job }: { job: Job }) {
  const slots = useQuery(slotsQuery(job)).data
  const run = useQuery(lastRunQuery(job.id)).data
  const missed = slots && missedSlot(job, slots, clock.now())
  const failed = job.state.consecutiveErrors > 0
  if (!missed && !failed) return <LastResult job={job} short />
  const at = missed ? missed.due_at : job.state.lastRunAt
  return (
    <section aria-label={words.trouble} className="flex gap-2 rounded-md bg-danger-tint px-3 py-2">
      <Icon className="mt-px text-danger" name="error" />
      <div className="min-w-0">
        <p className="font-medium text-danger">
          {missed ? words.missedAt(shortIn(missed.due_at)) : words.failingTimes(job.state.consecutiveErrors)}
          {at && (
            <span className="font-normal text-xs">
              {' · '}
              <Age at={at} /> {words.ago}
            </span>
          )}
        </p>
        <Markdown text={missed ? localTimes(missed.reason, missed.due_at) : job.state.lastError} />
        {!missed && run?.session_key && (
          <TextLink className="text-accent underline" href={sessionHref(run.session_key)}>
            {words.openRun}
          </TextLink>
        )}
      </div>
    </section>
  )
}
