import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useState } from 'react'
import type { Schemas } from '../api/client'
import { asProblem } from '../api/problem'
import { followSession } from '../app/live'
import { queries } from '../app/queries'
import { useTitle } from '../app/title'
import { Waiting } from '../approvals/Waiting'
import { texts } from '../texts'
import { sessions as sessionsWords } from '../texts/sessions'
import { Age } from '../ui/Age'
import { buttonClass } from '../ui/Button'
import { Guarded } from '../ui/Guarded'
import { Icon } from '../ui/Icon'
import { Answer, Empty, Failed, Partial, Skeleton, Stale } from '../ui/Views'
import { StandingMark, useAgentNames } from './Bits'
import { Composer } from './Composer'
import { canonical } from './liveSessions'
import { isSame, mainAgentOf, useOutbox } from './outbox'
import { archivedQuery, oneQuery, saidQuery, versionsQuery } from './queries'
import { ArchivedFacts, type Counted, LiveFacts, NewFacts } from './SessionHeader'
import { isArchiveId, isRunOfJob } from './session'
import { stepsOf, turnsOf } from './steps'
import { TranscriptView } from './TranscriptView'
import type { Transcript } from './transcript'
import { isAway, Unavailable, UnavailableLine } from './Unavailable'
import { useListNames } from './useListNames'

const sessionRoute = getRouteApi('/frame/sessions/$key')

const words = sessionsWords
const none: readonly [] = []
type Agent = Schemas['Agent']

/** The page of one session: the live transcript, or the archived one. */
export function SessionPage() {
  const { key } = sessionRoute.useParams()
  if (isArchiveId(key)) return <ArchivedSession id={key} key={key} />
  if (isRunOfJob(key)) return <RunOfJob key={key} of={key} />
  return <LiveSession key={canonical(key)} of={canonical(key)} />
}

/** A run of a job. The runtime has only the job's latest run and those that failed; the archive should have all. */
function RunOfJob({ of: key }: { of: string }) {
  const archived = useQuery(archivedQuery(key))
  const is = archived.data
  // Until the run is archived, the job's session has it.
  if (is?.present && is.coverage === 'none') return <LiveSession of={canonical(is.key)} />
  if (is) return <ArchivedSession id={is.id} />
  if (archived.error === null) return <Skeleton label={`${texts.ui.loading} ${words.what}`} />
  if (asProblem(archived.error).status === 404) return <LiveSession of={canonical(key)} />
  return <Failed again={() => void archived.refetch()} error={archived.error} />
}

/** The open step, which is a search parameter. */
function useOpenStep() {
  const { step } = sessionRoute.useSearch()
  const navigate = useNavigate({ from: '/sessions/$key' })
  return {
    step,
    onStep: (next: string | undefined) => void navigate({ search: was => ({ ...was, step: next }), replace: true }),
  }
}

/** Counts what a whole transcript tells about its session. */
function countedOf(t: Transcript | undefined): Counted {
  if (!t || t.older !== null) return { messages: null, worked: null }
  const turns = [...turnsOf(stepsOf(t.rows)).values()]
  return { messages: t.rows.length, worked: turns.reduce((sum, turn) => sum + (turn.ms ?? 0), 0) || null }
}

const newTranscript: Transcript = { rows: [], waiting: [], older: null }

/** Returns the agent whose main session has the key, if the runtime may have that agent. */
function useMainAgent(key: string): Agent | undefined {
  const agents = useQuery(queries.agents).data
  const id = mainAgentOf(key)
  return id === undefined ? undefined : agents?.find(a => canonical(a.agent_id) === id && a.in_runtime !== false)
}

/** Focuses the message field if the URL says so, once. */
function useCompose() {
  const { compose } = sessionRoute.useSearch()
  const navigate = useNavigate({ from: '/sessions/$key' })
  const onFocused = useCallback(
    () => void navigate({ search: was => ({ ...was, compose: undefined }), replace: true }),
    [navigate],
  )
  return { focus: compose === '1', onFocused }
}

/** Returns the messages that the user sends, without those that the transcript has. */
function useSends(key: string, transcript: Transcript | undefined) {
  const outbox = useOutbox(key)
  const { list, discard } = outbox
  useEffect(() => {
    const done = list.filter(o => transcript?.rows.some(m => m.sender !== null && isSame(m, o)))
    if (done.length > 0) discard(done.map(o => o.id))
  }, [list, discard, transcript])
  return outbox
}

/** A live session, or the main session of an agent that has none yet: the first message starts it. */
function LiveSession({ of: key }: { of: string }) {
  const one = useQuery(oneQuery(key))
  const said = useQuery({ ...saidQuery(key), enabled: one.data !== undefined })
  const counted = useMemo(() => countedOf(said.data), [said.data])
  const agents = useAgentNames()
  const owner = useMainAgent(key)
  const outbox = useSends(key, said.data)
  const at = useOpenStep()
  const compose = useCompose()
  const names = useListNames(one.data ? [one.data] : none)
  useTitle(one.data ? names.nameOf(one.data) : owner ? words.called.main : key, texts.app.places.sessions)
  useEffect(() => followSession(key), [key])
  const away = one.error !== null && isAway(one.error)
  const missing = one.error !== null && asProblem(one.error).status === 404
  const session = one.data
  // Stays while the session is read again, so that the message field keeps its text.
  const [isNew, setIsNew] = useState(false)
  if (missing && owner && !isNew) setIsNew(true)
  if (session === undefined && !isNew) return <NoSession again={() => void one.refetch()} error={one.error} of={key} />
  const gone = session !== undefined && missing
  const agentId = session?.agent_id ?? owner?.agent_id ?? ''
  const name = agents.get(agentId) ?? (agentId || undefined)
  const show = (transcript: Transcript, title: string) => (
    <TranscriptView
      agent={agentId}
      at={at}
      live
      name={key}
      outbox={outbox}
      title={title}
      transcript={transcript}
      {...(session ? {} : { empty: words.transcript.newText(name ?? key) })}
    />
  )
  return (
    <div className="flex h-full min-h-0 flex-col">
      <Guarded resetKey={session}>
        {session ? (
          <LiveFacts away={away || gone} counted={counted} session={session} />
        ) : (
          <NewFacts agent={name ?? key} of={key} />
        )}
      </Guarded>
      {away && <UnavailableLine />}
      {gone && <Partial>{words.archive.gone}</Partial>}
      {session && one.error && !gone ? <Stale error={one.error} since={one.dataUpdatedAt} /> : null}
      {session ? (
        <Answer of={said} what={words.transcript.what}>
          {transcript => show(transcript, names.nameOf(session))}
        </Answer>
      ) : (
        show(newTranscript, words.called.main)
      )}
      <div className="max-h-[50%] shrink-0 overflow-y-auto px-4 py-2 empty:hidden">
        <Waiting about={{ session_key: key }} />
      </div>
      <Guarded>
        <Composer
          active={session?.active ?? false}
          agent={name}
          away={away || gone}
          last={said.data?.rows.at(-1)?.at ?? null}
          of={key}
          outbox={outbox}
          {...compose}
        />
      </Guarded>
    </div>
  )
}

/** What to show instead of a live session that is loading, unavailable, or gone. */
function NoSession({ of: key, error, again }: { of: string; error: Error | null; again: () => void }) {
  if (error === null) return <Skeleton label={`${texts.ui.loading} ${key}`} />
  if (isAway(error))
    return (
      <div className="h-full overflow-auto">
        <Unavailable error={error} />
        <Versions of={key} />
      </div>
    )
  return asProblem(error).status === 404 ? <Gone of={key} /> : <Failed again={again} error={error} />
}

function ArchivedSession({ id }: { id: string }) {
  const one = useQuery(archivedQuery(id))
  const said = useQuery({ ...saidQuery(id), enabled: one.data !== undefined && one.data.coverage !== 'none' })
  const at = useOpenStep()
  const counted = useMemo(() => countedOf(said.data), [said.data])
  const names = useListNames(one.data ? [one.data] : none)
  useTitle(one.data ? names.nameOf(one.data) : undefined, texts.app.places.sessions)
  if (one.data === undefined) {
    if (one.error === null) return <Skeleton label={`${texts.ui.loading} ${words.what}`} />
    return <Failed again={() => void one.refetch()} error={one.error} />
  }
  const session = one.data
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ArchivedFacts counted={counted} session={session} />
      {session.coverage === 'partial' && <Partial>{words.archive.coverage.partial}</Partial>}
      {session.coverage === 'none' ? (
        <Empty icon="archive" title={words.transcript.empty}>
          {words.archive.coverage.none}
        </Empty>
      ) : (
        <Answer of={said} what={words.transcript.what}>
          {transcript => (
            <TranscriptView
              agent={session.agent_id}
              at={at}
              live={false}
              name={id}
              title={names.nameOf(session)}
              transcript={transcript}
            />
          )}
        </Answer>
      )}
    </div>
  )
}

/** The runtime doesn't have the session; the archive may. */
function Gone({ of: key }: { of: string }) {
  return (
    <div className="h-full overflow-auto">
      <Empty
        action={
          <Link className={buttonClass()} to="/sessions">
            {words.archive.toList}
          </Link>
        }
        icon="search"
        title={words.archive.gone}
      >
        <p>
          <bdi className="key wrap-anywhere whitespace-normal!">{key}</bdi>
        </p>
        <p>{words.archive.goneText}</p>
      </Empty>
      <Versions of={key} />
    </div>
  )
}

function Versions({ of: key }: { of: string }) {
  const asked = useQuery(versionsQuery(key))
  const names = useListNames(asked.data ?? none)
  return (
    <section className="mx-auto max-w-xl px-3 pb-6">
      <Answer of={asked} rows={2} what={words.archive.versionsWhat}>
        {versions =>
          versions.length === 0 ? (
            <p className="text-center text-soft">{words.archive.noVersions}</p>
          ) : (
            <ul aria-label={words.archive.versions} className="hairline divide-y divide-line rounded-md">
              {versions.map(a => (
                <li key={a.id} className="flex min-h-8 flex-wrap items-center gap-x-3 px-3 py-1">
                  <Icon className="text-soft" name="archive" />
                  <Link
                    className="min-w-0 grow truncate font-medium hover:underline"
                    params={{ key: a.id }}
                    to="/sessions/$key"
                  >
                    <bdi>{names.nameOf(a)}</bdi>
                  </Link>
                  <StandingMark of={a} />
                  <span className="text-soft">{words.archive.messages(a.messages)}</span>
                  <Age at={a.last_at} className="text-soft" />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </section>
  )
}
