import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { grouped, unknown } from '../app/format'
import { leads, useMe } from '../app/queries'
import { sessions as sessionsWords } from '../texts/sessions'
import { Age } from '../ui/Age'
import { Button, buttonClass } from '../ui/Button'
import { AgentName } from '../ui/Face'
import { Gauge } from '../ui/Gauge'
import { Icon } from '../ui/Icon'
import { Badge } from '../ui/State'
import { costOf, kindName, modelName, StandingMark, TaskLink, TokensOf, useAgentNames } from './Bits'
import { canonical } from './liveSessions'
import { jobNamesQuery } from './queries'
import { useStop } from './Stop'
import { type Archived, nameOf, partsOf, type Session } from './session'

const words = sessionsWords
const f = words.fields

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="flex min-w-0 items-center gap-1.5">
      <dt className="shrink-0 text-soft">{label}</dt>
      <dd className="min-w-0 truncate">{children}</dd>
    </div>
  )
}

/** The header of a live or archived session: name, facts, and actions. */
function Frame({
  session: s,
  mark,
  actions,
  children,
}: {
  session: Session | Archived
  mark: ReactNode
  actions: ReactNode
  children: ReactNode
}) {
  const agents = useAgentNames()
  const { job } = partsOf(s.key)
  const jobs = useQuery({ ...jobNamesQuery, enabled: job !== undefined }).data
  return (
    <header className="flex shrink-0 flex-col gap-1 border-line border-b px-3 py-2">
      <div className="flex items-center gap-2">
        <BackLink />
        <h2 className="min-w-0 truncate font-semibold text-base">
          <bdi title={nameOf(s)}>{nameOf(s)}</bdi>
        </h2>
        <span className="shrink-0">{mark}</span>
        <span className="ml-auto flex shrink-0 gap-2">{actions}</span>
      </div>
      <dl className="flex flex-wrap items-center gap-x-4 gap-y-0.5 text-xs">
        <Fact label={f.agent}>
          {s.agent_id ? <AgentName id={s.agent_id} name={agents.get(s.agent_id) ?? s.agent_id} /> : words.noAgent}
        </Fact>
        <Fact label={job ? words.job : f.kind}>
          <bdi>{job ? (jobs?.get(job) ?? kindName(s.kind)) : kindName(s.kind)}</bdi>
        </Fact>
        {partsOf(s.key).task && (
          <Fact label={f.task}>
            <TaskLink of={s.key} />
          </Fact>
        )}
        <Fact label={f.model}>
          <bdi title={s.model ?? undefined}>{modelName(s.model)}</bdi>
        </Fact>
        <Fact label={f.tokens}>
          <TokensOf none={'archived_at' in s ? unknown : words.counting} of={s.tokens} />
        </Fact>
        <Fact label={f.cost}>{costOf(s)}</Fact>
        {children}
        {s.parent_key && (
          <Fact label={f.parent}>
            <Link className="key text-accent underline" params={{ key: canonical(s.parent_key) }} to="/sessions/$key">
              <bdi>{s.parent_key}</bdi>
            </Link>
          </Fact>
        )}
        <Fact label={f.key}>
          <bdi className="key select-all text-soft" title={s.key}>
            {s.key}
          </bdi>
        </Fact>
      </dl>
    </header>
  )
}

/** The header of an agent's main session that doesn't exist yet. */
export function NewFacts({ of: key, agent }: { of: string; agent: string }) {
  return (
    <header className="flex shrink-0 items-center gap-2 border-line border-b px-3 py-2">
      <BackLink />
      <h2 className="min-w-0 truncate font-semibold text-base">{words.called.main}</h2>
      <bdi className="min-w-0 truncate">{agent}</bdi>
      <bdi className="key truncate text-soft text-xs">{key}</bdi>
    </header>
  )
}

const BackLink = () => (
  <Link aria-label={words.archive.toList} className={buttonClass('quiet', 'px-0')} to="/sessions">
    <Icon name="left" />
  </Link>
)

export function LiveFacts({ session: s, away }: { session: Session; away: boolean }) {
  const me = useMe().data
  const [askStop, question] = useStop()
  const stop = leads(me) && s.active && !away && (
    <Button icon="blocked" look="danger" onClick={() => askStop(s)}>
      {words.stop}
    </Button>
  )
  return (
    <>
      <Frame actions={stop} mark={<StandingMark of={s} />} session={s}>
        <Fact label={f.context}>
          <Gauge label={f.context} of={s.context_limit} value={s.context_tokens} />
        </Fact>
        {s.started_at && (
          <Fact label={f.started}>
            <Age at={s.started_at} />
          </Fact>
        )}
        <Fact label={f.last}>{s.updated_at ? <Age at={s.updated_at} /> : unknown}</Fact>
      </Frame>
      {question}
    </>
  )
}

export function ArchivedFacts({ session: s }: { session: Archived }) {
  const live = s.present && s.ended !== 'reset' && (
    <Link className={buttonClass()} params={{ key: canonical(s.key) }} to="/sessions/$key">
      <Icon name="pulse" />
      {words.archive.live}
    </Link>
  )
  return (
    <Frame
      actions={live}
      mark={
        <Badge icon="archive" tone="idle">
          {s.ended ? (words.archive.ended[s.ended] ?? s.ended) : words.view.history}
        </Badge>
      }
      session={s}
    >
      <Fact label={f.messages}>{grouped(s.messages)}</Fact>
      {s.began_at && (
        <Fact label={f.began}>
          <Age at={s.began_at} />
        </Fact>
      )}
      <Fact label={f.last}>
        <Age at={s.last_at} />
      </Fact>
      {s.archived_at && (
        <Fact label={f.archived}>
          <Age at={s.archived_at} />
        </Fact>
      )}
    </Frame>
  )
}
