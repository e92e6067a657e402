import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Problem } from '../api/problem'
import { leads, useMe } from '../app/queries'
import { useTitle } from '../app/title'
import { waitingQuery } from '../approvals/queries'
import { Waiting } from '../approvals/Waiting'
import { texts } from '../texts'
import { agents as agentTexts } from '../texts/agents'
import { connect } from '../texts/connect'
import { receipts } from '../texts/receipts'
import { Age } from '../ui/Age'
import { buttonClass } from '../ui/Button'
import { Face } from '../ui/Face'
import { GatewayLine } from '../ui/GatewayLine'
import { Guarded } from '../ui/Guarded'
import { Icon } from '../ui/Icon'
import { TextLink } from '../ui/TextLink'
import { Answer, Empty } from '../ui/Views'
import type { AgentDetails } from './agent'
import { NextRun, PresenceMark } from './Bits'
import { Connect, ConnectButton, ToolsState } from './Connect'
import { Failures } from './Failures'
import { HeldNotice, HoldButton } from './Hold'
import { MessageLink } from './MessageLink'
import { oneQuery } from './queries'
import { Now, Sessions } from './Sessions'
import { Spend } from './Spend'
import { StandupReports } from './StandupReports'
import { Tasks } from './Tasks'
import { Verdicts } from './Verdicts'

const agentRoute = getRouteApi('/frame/agents/$agentId')

const words = agentTexts.page

/** The page of one agent. */
export function AgentPage() {
  const { agentId } = agentRoute.useParams()
  const asked = useQuery(oneQuery(agentId))
  useTitle(asked.data?.name ?? agentId, texts.app.places.agents)
  const back = (
    <Link className={buttonClass('quiet', '-ml-2')} to="/agents">
      <Icon name="left" />
      {words.back}
    </Link>
  )
  if (asked.error instanceof Problem && asked.error.status === 404 && !asked.data) {
    return (
      <Empty action={back} icon="agents" title={words.noSuch}>
        <bdi className="key wrap-anywhere">{agentId}</bdi>
      </Empty>
    )
  }
  return (
    <div className="flex min-h-full flex-col">
      <GatewayLine>{texts.app.live.gatewayHelp}</GatewayLine>
      <div className="w-full max-w-wide px-3 pt-2">{back}</div>
      <Answer of={asked} what={words.what}>
        {page => <Parts page={page} />}
      </Answer>
    </div>
  )
}

function Parts({ page }: { page: AgentDetails }) {
  const id = page.agent_id
  const navigate = agentRoute.useNavigate()
  const asked = useQuery(waitingQuery({ agent_id: id })).data
  const waits = asked && asked.approvals.length + asked.questions.length > 0
  return (
    <div className="flex w-full max-w-wide flex-col gap-4 px-3 pt-1 pb-8">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Face agent={id} name={page.name} size="lg" />
        <div className="min-w-0">
          <h2 className="wrap-anywhere font-semibold text-xl leading-tight">
            <bdi>{page.name}</bdi>
          </h2>
          <PresenceMark of={page} />
        </div>
        <div className="flex flex-wrap gap-2 sm:ml-auto">
          {page.account && (
            <Link className={buttonClass()} search={{ assignee: id, new: '1' }} to="/tasks">
              <Icon name="plus" />
              {words.newTask}
            </Link>
          )}
          <ConnectButton of={page} />
          <HoldButton of={page} />
          <MessageLink look={waits ? 'plain' : 'primary'} to={page} />
        </div>
      </header>
      <Connect
        of={page}
        onClose={() => void navigate({ search: {}, replace: true })}
        open={agentRoute.useSearch().connect === '1'}
      />
      <HeldNotice of={page} />
      <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <div className="flex min-w-0 flex-col gap-4">
          <Waiting about={{ agent_id: id }} />
          <Part title={page.sessions?.some(s => s.run) === false ? agentTexts.fields.last : agentTexts.fields.now}>
            <Now page={page} />
          </Part>
          <Part more={<More search={{ assignee: id }} text={words.allTasks} to="/tasks" />} title={words.tasks}>
            <Tasks id={id} page={page} />
          </Part>
          <Part more={<More search={{ agent: id }} text={words.allSessions} to="/sessions" />} title={words.sessions}>
            <Sessions page={page} />
          </Part>
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <Part more={<More text={words.allSpend} to="/spend" />} title={words.spend}>
            <Spend id={id} spend={page.spend} />
          </Part>
          <Part title={receipts.verdicts.title}>
            <Verdicts of={page.verdicts} />
          </Part>
          <Part title={words.failures}>
            <Failures page={page} />
          </Part>
          <Part more={<More search={{ agent: id }} text={words.allJobs} to="/schedules" />} title={words.upcoming}>
            {page.upcoming.length === 0 && <p className="text-soft">{agentTexts.noNext}</p>}
            <ul className="flex flex-col gap-1.5 empty:hidden">
              {page.upcoming.map(u => (
                <li key={u.job_id}>
                  <NextRun of={u} />
                </li>
              ))}
            </ul>
          </Part>
          <Part title={words.standups}>
            <StandupReports id={id} said={page.standups} />
          </Part>
          <Part title={words.about}>
            <About page={page} />
          </Part>
        </div>
      </div>
    </div>
  )
}

const More = (link: { to: '/tasks' | '/sessions' | '/spend' | '/schedules'; search?: object; text: string }) => (
  <Link className="text-soft hover:text-ink hover:underline" search={link.search ?? {}} to={link.to}>
    {link.text} <Icon className="inline size-3.5" name="right" />
  </Link>
)

function Part({ title, more, children }: { title: string; more?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} className="hairline min-w-0 rounded-md">
      <div className="flex min-h-9 items-center justify-between gap-3 rounded-t-md border-line border-b bg-panel px-3">
        <h3 className="font-semibold">{title}</h3>
        {more && <span className="shrink-0 text-xs">{more}</span>}
      </div>
      <div className="px-3 py-2.5">
        <Guarded>{children}</Guarded>
      </div>
    </section>
  )
}

/** The reason for the agent's status, its model, and its account. */
function About({ page }: { page: AgentDetails }) {
  const p = page.presence
  const may = leads(useMe().data)
  return (
    <dl className="grid grid-cols-[6rem_1fr] gap-x-3 gap-y-1.5 [&>dt]:text-soft">
      <dt>{words.status}</dt>
      <dd className="wrap-anywhere">
        <bdi>{p?.reason ?? agentTexts.unseenWhy}</bdi>
      </dd>
      {p && (
        <>
          <dt>{words.asOf}</dt>
          <dd>
            <Age at={p.as_of} /> {words.ago}
          </dd>
        </>
      )}
      <dt>{words.model}</dt>
      <dd>{page.model ? <bdi className="key wrap-anywhere">{page.model}</bdi> : words.modelUnknown}</dd>
      <dt>{connect.row}</dt>
      <dd>
        <ToolsState of={page} />
      </dd>
      <dt>{words.account}</dt>
      <dd className={page.account ? '' : 'text-attention'}>
        {page.account ? <bdi>{page.account.name}</bdi> : words.noAccount}{' '}
        {may && (
          <TextLink href={`/settings/agents?agent=${encodeURIComponent(page.agent_id)}`}>{words.manage}</TextLink>
        )}
      </dd>
    </dl>
  )
}
