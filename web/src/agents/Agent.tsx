import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Problem } from '../api/problem'
import { useTitle } from '../app/title'
import { texts } from '../texts'
import { agents as agentTexts } from '../texts/agents'
import { buttonClass } from '../ui/Button'
import { canDraw } from '../ui/canDraw'
import { Face } from '../ui/Face'
import { GatewayLine } from '../ui/GatewayLine'
import { Icon } from '../ui/Icon'
import { TextLink } from '../ui/TextLink'
import { Answer, Empty } from '../ui/Views'
import { Account } from './Account'
import { Evidence, Now, Sessions } from './Activity'
import type { AgentDetails } from './agent'
import { PresenceMark } from './Bits'
import { Failures } from './Failures'
import { MessageLink } from './MessageLink'
import { oneQuery } from './queries'
import { Spend } from './Spend'
import { StandupReports } from './StandupReports'
import { Tasks } from './Tasks'

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
      <div className="px-4 pt-2">{back}</div>
      <Answer of={asked} what={words.what}>
        {page => <Parts page={page} />}
      </Answer>
    </div>
  )
}

function Parts({ page }: { page: AgentDetails }) {
  return (
    <div className="flex max-w-page flex-col gap-5 px-4 pb-8">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Face agent={page.agent_id} name={page.name} size="lg" />
        <h2 className="wrap-anywhere font-semibold text-xl">
          <bdi>{page.name}</bdi>
          {page.emoji && canDraw(page.emoji) && <bdi aria-hidden="true"> {page.emoji}</bdi>}
        </h2>
        <bdi className="key text-soft">{page.agent_id}</bdi>
        <PresenceMark of={page} />
        {page.model && <bdi className="key wrap-anywhere text-soft">{page.model}</bdi>}
        <span className="ml-auto self-center">
          <MessageLink to={page} />
        </span>
      </header>
      <div className="grid grid-cols-1 gap-x-8 gap-y-6 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <div className="flex min-w-0 flex-col gap-6">
          <Part title={words.now}>
            <Now page={page} />
          </Part>
          <Part
            more={
              <Link className="text-accent hover:underline" search={{ assignee: page.agent_id }} to="/tasks">
                {words.allTasks}
              </Link>
            }
            title={words.tasks}
          >
            <Tasks desk={page.tasks} />
          </Part>
          <Part
            more={
              <TextLink href={`/sessions?agent=${encodeURIComponent(page.agent_id)}`}>{words.allSessions}</TextLink>
            }
            title={words.sessions}
          >
            <Sessions page={page} />
          </Part>
          <Part title={words.standups}>
            <StandupReports id={page.agent_id} said={page.standups} />
          </Part>
        </div>
        <div className="flex min-w-0 flex-col gap-6">
          <Part title={words.evidence}>
            <Evidence page={page} />
          </Part>
          <Part
            more={
              <Link className="text-accent hover:underline" to="/spend">
                {words.allSpend}
              </Link>
            }
            title={words.spend}
          >
            <Spend id={page.agent_id} spend={page.spend} />
          </Part>
          <Part title={words.failures}>
            <Failures page={page} />
          </Part>
          <Part title={words.account}>
            <Account page={page} />
          </Part>
        </div>
      </div>
    </div>
  )
}

function Part({ title, more, children }: { title: string; more?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} className="min-w-0">
      <div className="mb-1.5 flex items-baseline justify-between gap-3 border-line border-b pb-1">
        <h3 className="font-semibold">{title}</h3>
        {more && <span className="shrink-0 text-xs">{more}</span>}
      </div>
      {children}
    </section>
  )
}
