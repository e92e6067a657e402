import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { asProblem } from '../api/problem'
import { followSession } from '../app/live'
import { useTitle } from '../app/title'
import { texts } from '../texts'
import { sessions as sessionsWords } from '../texts/sessions'
import { Age } from '../ui/Age'
import { buttonClass } from '../ui/Button'
import { Icon } from '../ui/Icon'
import { Answer, Empty, Failed, Partial, Skeleton, Stale } from '../ui/Views'
import { StandingMark, useAgentNames } from './Bits'
import { Composer } from './Composer'
import { canonical } from './liveSessions'
import { archivedQuery, oneQuery, saidQuery, versionsQuery } from './queries'
import { ArchivedFacts, LiveFacts } from './SessionHeader'
import { isArchiveId, nameOf } from './session'
import { TranscriptView } from './TranscriptView'
import { isAway, Unavailable, UnavailableLine } from './Unavailable'

const sessionRoute = getRouteApi('/frame/sessions/$key')

const words = sessionsWords

/** The page of one session: the live transcript, or the archived one. */
export function SessionPage() {
  const { key } = sessionRoute.useParams()
  return isArchiveId(key) ? (
    <ArchivedSession id={key} key={key} />
  ) : (
    <LiveSession key={canonical(key)} of={canonical(key)} />
  )
}

/** The search parameters: the open step, and whether the overview is a table. */
function useOpenStep() {
  const { step, strip } = sessionRoute.useSearch()
  const navigate = useNavigate({ from: '/sessions/$key' })
  return {
    step,
    table: strip === 'table',
    onStep: (next: string | undefined) => void navigate({ search: was => ({ ...was, step: next }), replace: true }),
    onTable: (show: boolean) =>
      void navigate({ search: was => ({ ...was, strip: show ? 'table' : undefined }), replace: true }),
  }
}

function LiveSession({ of: key }: { of: string }) {
  const one = useQuery(oneQuery(key))
  const said = useQuery({ ...saidQuery(key), enabled: one.data !== undefined })
  const agents = useAgentNames()
  const at = useOpenStep()
  useTitle(one.data ? nameOf(one.data) : key, texts.app.places.sessions)
  useEffect(() => followSession(key), [key])
  const away = one.error !== null && isAway(one.error)
  if (one.data === undefined) {
    if (one.error === null) return <Skeleton label={`${texts.ui.loading} ${key}`} />
    if (away)
      return (
        <div className="h-full overflow-auto">
          <Unavailable error={one.error} />
          <Versions of={key} />
        </div>
      )
    if (asProblem(one.error).status === 404) return <Gone of={key} />
    return <Failed again={() => void one.refetch()} error={one.error} />
  }
  const session = one.data
  const gone = one.error !== null && asProblem(one.error).status === 404
  return (
    <div className="flex h-full min-h-0 flex-col">
      <LiveFacts away={away || gone} session={session} />
      {away && <UnavailableLine />}
      {gone && <Partial>{words.archive.gone}</Partial>}
      {one.error && !gone ? <Stale error={one.error} since={one.dataUpdatedAt} /> : null}
      <Answer of={said} what={words.transcript.what}>
        {transcript => (
          <TranscriptView
            agent={session.agent_id}
            at={at}
            live
            name={key}
            title={nameOf(session)}
            transcript={transcript}
          />
        )}
      </Answer>
      <Composer
        agent={agents.get(session.agent_id) ?? (session.agent_id || undefined)}
        away={away || gone}
        session={session}
      />
    </div>
  )
}

function ArchivedSession({ id }: { id: string }) {
  const one = useQuery(archivedQuery(id))
  const said = useQuery({ ...saidQuery(id), enabled: one.data !== undefined && one.data.coverage !== 'none' })
  const at = useOpenStep()
  useTitle(one.data ? nameOf(one.data) : undefined, texts.app.places.sessions)
  if (one.data === undefined) {
    if (one.error === null) return <Skeleton label={`${texts.ui.loading} ${words.what}`} />
    return <Failed again={() => void one.refetch()} error={one.error} />
  }
  const session = one.data
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ArchivedFacts session={session} />
      {session.coverage === 'partial' && <Partial>{words.archive.coverage.partial}</Partial>}
      {session.coverage === 'none' ? (
        <Empty icon="archive" title={words.transcript.empty}>
          {words.archive.coverage.none}
        </Empty>
      ) : (
        <>
          <p className="shrink-0 bg-panel px-3 py-1 text-soft text-xs">{words.archive.masked}</p>
          <Answer of={said} what={words.transcript.what}>
            {transcript => (
              <TranscriptView
                agent={session.agent_id}
                at={at}
                live={false}
                name={id}
                title={nameOf(session)}
                transcript={transcript}
              />
            )}
          </Answer>
        </>
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
                    <bdi>{nameOf(a)}</bdi>
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
