import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useId, useState } from 'react'
import { grouped, span, unknown } from '../app/format'
import { leads, useMe } from '../app/queries'
import { Headroom } from '../spend/Headroom'
import { LimitForm } from '../spend/LimitForm'
import { limits as limitWords } from '../texts/limits'
import { sessions as sessionsWords } from '../texts/sessions'
import { Age } from '../ui/Age'
import { Button, buttonClass } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { AgentName } from '../ui/Face'
import { Flash } from '../ui/Flash'
import { Gauge } from '../ui/Gauge'
import { Icon } from '../ui/Icon'
import { Badge } from '../ui/State'
import { EndMark, kindName, modelName, StandingMark, StartedBy, TokensOf } from './Bits'
import { canonical } from './liveSessions'
import { versionsQuery } from './queries'
import { useStop } from './Stop'
import { type Archived, type Session, standing } from './session'
import { useActiveRun, useCost } from './useCost'
import { useListNames } from './useListNames'

const words = sessionsWords
const f = words.fields

/** What the transcript tells about its session; null while it isn't loaded whole. */
export interface Counted {
  messages: number | null
  /** The time that the agent worked, in ms. */
  worked: number | null
}

interface FrameProps {
  session: Session | Archived
  counted: Counted
  mark: ReactNode
  actions: ReactNode
  /** When the session was last active. */
  last: string | null
  /** Further entries of the details. */
  children: ReactNode
}

/** The header of a live or archived session: its name, one line of facts, and actions. Details are behind a button. */
function Frame({ session: s, counted, mark, actions, last, children }: FrameProps) {
  const names = useListNames([s])
  const [open, setOpen] = useState(false)
  const id = useId()
  const cost = useCost(s)
  const run = useActiveRun(s)
  // The runtime deletes sub-agents' parents, too; the archive still has them.
  const live = s.parent_key ? names.find(canonical(s.parent_key)) : undefined
  const kept = useQuery({ ...versionsQuery(s.parent_key ?? ''), enabled: s.parent_key !== null && !live }).data?.[0]
  const parent = live ?? (kept && { to: kept.id, name: names.nameOf(kept) })
  return (
    <header className="shrink-0 border-line border-b">
      <div className="flex max-w-page flex-col gap-1 px-3 py-2 max-sm:gap-0 max-sm:py-1">
        <div className="flex items-center gap-2 sm:flex-wrap">
          <BackLink />
          <h2 className="min-w-0 font-semibold text-lg max-sm:line-clamp-2 sm:truncate">
            <bdi title={names.nameOf(s)}>{names.nameOf(s)}</bdi>
          </h2>
          <span className="ml-auto flex shrink-0 gap-2">{actions}</span>
        </div>
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <span className="shrink-0">{mark}</span>
          {s.agent_id ? <AgentName id={s.agent_id} name={names.agent(s.agent_id)} /> : words.noAgent}
          <StartedBy find={() => parent} of={s} />
          <Dot />
          <Flash of={cost}>
            <span title={f.cost}>{cost}</span>
          </Flash>
          {run !== undefined && <Headroom run={run} />}
          <span className="contents max-sm:hidden">
            {counted.worked !== null && (
              <>
                <Dot />
                <span className="text-soft">{words.worked(span(counted.worked))}</span>
              </>
            )}
            {counted.messages !== null && (
              <>
                <Dot />
                <span className="text-soft">{words.archive.messages(counted.messages)}</span>
              </>
            )}
            {last && (
              <>
                <Dot />
                <span className="text-soft" title={f.last}>
                  <Age at={last} /> {words.ago}
                </span>
              </>
            )}
          </span>
          <Button
            aria-controls={id}
            aria-expanded={open}
            className="h-6! max-sm:ml-auto pointer-coarse:h-10!"
            icon={open ? 'chevron' : 'right'}
            look="quiet"
            onClick={() => setOpen(!open)}
          >
            {words.details}
          </Button>
        </div>
        <dl
          className={`${open ? 'grid' : 'hidden'} grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1 py-1 text-xs sm:grid-cols-[auto_minmax(0,1fr)_auto_minmax(0,1fr)]`}
          id={id}
        >
          {open && (
            <>
              <Fact label={f.kind}>{kindName(s.kind)}</Fact>
              <Fact label={f.model}>
                <bdi title={s.model ?? undefined}>{modelName(s.model)}</bdi>
              </Fact>
              <Fact label={f.tokens}>
                <TokensOf none={'archived_at' in s ? unknown : words.counting} of={s.tokens} />
              </Fact>
              {children}
              <Fact label={f.key}>
                <bdi className="key wrap-anywhere select-all whitespace-normal!">{s.key}</bdi>
              </Fact>
            </>
          )}
        </dl>
      </div>
    </header>
  )
}

const Dot = () => (
  <span aria-hidden="true" className="text-line-strong max-sm:hidden">
    ·
  </span>
)

const Fact = ({ label, children }: { label: string; children: ReactNode }) => (
  <>
    <dt className="text-soft">{label}</dt>
    <dd className="min-w-0">{children}</dd>
  </>
)

/** The header of an agent's main session that doesn't exist yet. */
export function NewFacts({ of: key, agent }: { of: string; agent: string }) {
  return (
    <header className="shrink-0 border-line border-b">
      <div className="flex max-w-page items-center gap-2 px-3 py-2">
        <BackLink />
        <h2 className="min-w-0 truncate font-semibold text-lg">{words.called.main}</h2>
        <bdi className="min-w-0 truncate">{agent}</bdi>
        <bdi className="key truncate text-soft text-xs">{key}</bdi>
      </div>
    </header>
  )
}

const BackLink = () => (
  <Link aria-label={words.archive.toList} className={buttonClass('quiet', '-ml-2 px-0')} to="/sessions">
    <Icon name="left" />
  </Link>
)

export function LiveFacts({ session: s, away, counted }: { session: Session; away: boolean; counted: Counted }) {
  const me = useMe().data
  const [askStop, question] = useStop()
  // The run that the dialog is about. It stays the same if the next run starts meanwhile.
  const [limited, setLimited] = useState<string | null>(null)
  const run = useActiveRun(s)
  const actions = leads(me) && s.active && !away && (
    <>
      {run && (
        <Button icon="spend" onClick={() => setLimited(run)}>
          <span className="max-sm:sr-only">{limitWords.limitRun}</span>
        </Button>
      )}
      <Button icon="stop" look="danger" onClick={() => askStop(s)}>
        <span className="max-sm:sr-only">{words.stop}</span>
      </Button>
    </>
  )
  return (
    <>
      <Frame
        actions={actions}
        counted={counted}
        last={s.active ? null : s.updated_at}
        mark={<StandingMark of={s} />}
        session={s}
      >
        <Fact label={f.context}>
          <Gauge label={f.context} of={s.context_limit} value={s.context_tokens} />
        </Fact>
        {s.started_at && (
          <Fact label={f.started}>
            <Age at={s.started_at} /> {words.ago}
          </Fact>
        )}
      </Frame>
      {question}
      <Dialog onClose={() => setLimited(null)} open={limited !== null} title={limitWords.ofRun}>
        {limited !== null && <LimitForm onClose={() => setLimited(null)} run={limited} />}
      </Dialog>
    </>
  )
}

export function ArchivedFacts({ session: s, counted }: { session: Archived; counted: Counted }) {
  const live = s.present && s.ended !== 'reset' && (
    <Link className={buttonClass()} params={{ key: canonical(s.key) }} to="/sessions/$key">
      <Icon name="comment" />
      <span className="max-sm:sr-only">{words.archive.live}</span>
      <span aria-hidden="true" className="sm:hidden">
        {words.archive.liveShort}
      </span>
    </Link>
  )
  const plain = standing(s) === 'rests' && s.ended !== 'deleted' && s.ended !== 'reset'
  return (
    <Frame
      actions={live}
      counted={{ ...counted, messages: s.messages }}
      last={s.last_at}
      mark={
        <span className="flex items-center gap-2">
          <Badge icon="archive" title={words.archive.masked} tone="idle">
            {words.archive.badge}
          </Badge>
          {!plain && <EndMark of={s} />}
        </span>
      }
      session={s}
    >
      {s.began_at && (
        <Fact label={f.began}>
          <Age at={s.began_at} /> {words.ago}
        </Fact>
      )}
      {s.archived_at && (
        <Fact label={f.archived}>
          <Age at={s.archived_at} /> {words.ago}. {words.archive.masked}
        </Fact>
      )}
      <Fact label={f.messages}>{grouped(s.messages)}</Fact>
    </Frame>
  )
}
