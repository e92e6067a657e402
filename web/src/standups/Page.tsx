import { type QueryClient, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useCallback } from 'react'
import type { Schemas } from '../api/client'
import * as clock from '../app/clock'
import { configQuery, useZone } from '../app/config'
import { dayIn } from '../app/days'
import { known } from '../app/prefetch'
import { useTitle } from '../app/title'
import { useGo } from '../app/useGo'
import { texts } from '../texts'
import { standups } from '../texts/standups'
import { Select } from '../ui/Field'
import { Answer, Failed, Skeleton } from '../ui/Views'
import { dayText } from './Bits'
import { DayStrip, shown } from './DayStrip'
import { NoneOfDay, NoneOfToday, NoneYet } from './EmptyStates'
import { dayAddress, executive, latestQuery, listQuery, oneQuery, teamsQuery } from './queries'
import { StandupView } from './StandupView'
import type { Go, StandupSearch } from './search'
import type { Brief } from './standup'
import './print.css'

const standupsRoute = getRouteApi('/frame/standups')
const standupRoute = getRouteApi('/frame/standups/$id')

const words = standups

/** Prefetches a team's latest standup, or that of a day. */
export async function ask(cache: QueryClient, { day, team = executive }: StandupSearch): Promise<void> {
  const found = day === undefined ? await latestOf(cache, team) : (await known(cache, listQuery(team, day, day)))?.[0]
  if (found) await known(cache, oneQuery(found.id))
}

async function latestOf(cache: QueryClient, team: string): Promise<Brief | null | undefined> {
  const upTo = (zone: string) => known(cache, latestQuery(team, dayIn(clock.now(), zone)))
  // Until the teams are loaded, assumes the server's time zone, which most teams use.
  const usual = cache.getQueryData<Schemas['AppPublicConfig']>(configQuery.queryKey)?.timezone
  const [teams, early] = await Promise.all([known(cache, teamsQuery), usual ? upTo(usual) : undefined])
  const zone = teamOf(teams, team)?.timezone ?? usual ?? (await known(cache, configQuery))?.timezone
  if (!teams || !zone) return undefined
  return usual && dayIn(clock.now(), zone) === dayIn(clock.now(), usual) ? early : upTo(zone)
}

/** The standups page: a team's latest standup, or that of a day. */
export function StandupsPage() {
  const search = standupsRoute.useSearch()
  const go: Go = useGo('/standups')
  const team = search.team ?? executive
  const of = useTeam(team)
  const day = search.day
  const latest = useQuery({ ...latestQuery(team, of.today), enabled: of.isKnown && day === undefined })
  const ofDay = useQuery({ ...listQuery(team, day ?? '', day ?? ''), enabled: day !== undefined })
  const finding = day === undefined ? latest : ofDay
  const found = day === undefined ? latest.data : ofDay.data && (ofDay.data[0] ?? null)
  const one = useQuery({ ...oneQuery(found?.id ?? ''), enabled: Boolean(found) })
  useTitle(found ? dayText(found.date) : undefined, texts.app.places.standups)
  const toToday = useCallback(() => go({ day: undefined, until: undefined, part: undefined }), [go])
  return (
    <Place go={go} of={of} opened={day ?? found?.date} search={search} team={team}>
      {found === undefined ? (
        finding.error ? (
          <Failed
            again={() => void finding.refetch()}
            error={finding.error}
            what={`${texts.ui.couldNotLoad} ${words.whatAll}.`}
          />
        ) : (
          <Skeleton label={`${texts.ui.loading} ${words.whatAll}`} />
        )
      ) : found === null ? (
        day === undefined ? (
          <NoneYet participants={of.team?.participants ?? []} team={team} />
        ) : (
          <NoneOfDay day={day} isToday={day === of.today} onStarted={toToday} team={team} />
        )
      ) : (
        <>
          {day === undefined && found.date < of.today && <NoneOfToday team={team} today={of.today} />}
          <Answer of={one} what={words.what}>
            {s => <StandupView key={s.id} go={go} search={search} standup={s} />}
          </Answer>
        </>
      )}
    </Place>
  )
}

/** The page of a standup by ID. */
export function StandupPage() {
  const { id } = standupRoute.useParams()
  const search = standupRoute.useSearch()
  const go: Go = useGo('/standups/$id')
  const one = useQuery(oneQuery(id))
  const team = one.data?.team ?? search.team ?? executive
  const of = useTeam(team)
  useTitle(one.data && dayText(one.data.date), texts.app.places.standups)
  return (
    <Place go={go} of={of} opened={one.data?.date} search={search} team={team}>
      <Answer of={one} what={words.what}>
        {s => <StandupView key={s.id} go={go} search={search} standup={s} />}
      </Answer>
    </Place>
  )
}

type Team = Schemas['StandupTeam']

interface OfTeam {
  teams: readonly Team[]
  team: Team | undefined
  /** Today in the team's time zone. */
  today: string
  /** False while it is a guess by the server's time zone. */
  isKnown: boolean
}

const teamOf = (teams: readonly Team[] | undefined, key: string): Team | undefined =>
  teams?.find(t => t.key === key || t.id === key)

function useTeam(key: string): OfTeam {
  const asked = useQuery(teamsQuery)
  const service = useZone()
  const team = teamOf(asked.data, key)
  const zone = team?.timezone ?? service
  const today = clock.useTicking(now => dayIn(now, zone ?? 'UTC'))
  return { teams: asked.data ?? [], team, today, isKnown: !asked.isPending && zone !== undefined }
}

interface PlaceProps {
  team: string
  of: OfTeam
  search: StandupSearch
  opened: string | undefined
  go: Go
  children: ReactNode
}

/** The layout around a standup: team and days. */
function Place({ team, of, search, opened, go, children }: PlaceProps) {
  const navigate = useNavigate()
  // An older day moves the calendar back to it.
  const until = search.until ?? calendarEnd(opened, of.today)
  const names = of.teams.map(t => ({ value: t.key, label: t.name }))
  const choices = names.some(n => n.value === team) ? names : [...names, { value: team, label: team }]
  return (
    <div className="standup-page flex h-full min-h-0 flex-col">
      {choices.length > 1 && (
        <div className="no-print flex items-center gap-2 px-3 pt-1.5">
          <Select
            choices={choices}
            className="w-48"
            hideLabel
            label={words.team}
            onChange={e => void navigate({ to: '/standups', search: dayAddress(e.target.value) })}
            value={team}
          />
        </div>
      )}
      <DayStrip
        kept={search.until}
        onUntil={next => go({ until: next }, true)}
        opened={opened}
        team={team}
        today={of.today}
        until={until}
      />
      {children}
    </div>
  )
}

function calendarEnd(opened: string | undefined, today: string): string {
  if (!opened) return today
  const age = (Date.parse(today) - Date.parse(opened)) / 86_400_000
  return age < 0 || age >= shown ? opened : today
}
