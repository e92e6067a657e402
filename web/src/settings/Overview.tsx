import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useConfig } from '../app/config'
import { moment } from '../app/format'
import { leads, queries, useMe } from '../app/queries'
import { useTitle } from '../app/title'
import { settings } from '../texts/settings'
import { welcome } from '../texts/welcome'
import { Icon, type IconName } from '../ui/Icon'
import { State } from '../ui/State'
import { standupJob, stepsLeft } from '../welcome/steps'
import { useStepFacts } from '../welcome/useStepFacts'
import { Ago } from './Bits'
import { tones } from './Gateway'
import { type PartId, parts } from './parts'
import { auditQuery, devicesQuery, jobsQuery, projectsQuery, readyQuery, settingsQuery, teamsQuery } from './queries'
import { agentRows } from './rules'

const words = settings.overviewOf

/** The landing page of Settings: each page with what is set there now. */
export function SettingsIndex() {
  useTitle(settings.title)
  const me = useMe().data
  const may = leads(me)
  const known = useStepFacts()
  const left = known.settled ? stepsLeft(known).map(s => welcome.steps[s]) : null
  const first = may && (
    <Row icon={left?.length ? 'clock' : 'check'} name={settings.firstSteps} to="/welcome">
      {left === null ? (
        settings.firstStepsAbout
      ) : left.length === 0 ? (
        words.stepsDone
      ) : (
        <State tone="attention">{words.stepsLeft(left)}</State>
      )}
    </Row>
  )
  return (
    <div>
      <h2 className="mb-3 font-semibold text-xl max-md:sr-only">{settings.overview}</h2>
      <ul className="hairline divide-y divide-line rounded-md">
        {left?.length ? first : null}
        {parts.map(p => (
          <Row icon={p.icon} key={p.id} name={settings.parts[p.id].name} to={p.to}>
            {me && !may && !p.all ? settings.leads : <Value about={settings.parts[p.id].about} id={p.id} />}
          </Row>
        ))}
        {left?.length ? null : first}
      </ul>
    </div>
  )
}

interface RowProps {
  to: string
  icon: IconName
  name: string
  children: ReactNode
}

function Row({ to, icon, name, children }: RowProps) {
  return (
    <li>
      <Link className="flex min-h-12 items-center gap-3 px-3 py-2 hover:bg-hover" to={to}>
        <Icon className="shrink-0 text-soft" name={icon} />
        <span className="flex min-w-0 grow flex-wrap items-baseline gap-x-4">
          <span className="w-40 shrink-0 font-medium">{name}</span>
          <span className="wrap-anywhere min-w-0 grow basis-56 text-soft">{children}</span>
        </span>
        <Icon className="shrink-0 text-faint" name="right" />
      </Link>
    </li>
  )
}

/** More signed-in devices than this need a look. */
const many = 10

/** What is set on a page now, or what the page is about while that is unknown. */
function Value({ id, about }: { id: PartId; about: string }) {
  const Of = values[id]
  return <Of about={about} />
}

const values: Record<PartId, (p: { about: string }) => ReactNode> = {
  account: function Account({ about }) {
    const me = useMe().data
    const devices = useQuery(devicesQuery).data
    if (!me) return about
    return (
      <>
        {me.email} · {settings.roles[me.role]}
        {devices && ' · '}
        {devices &&
          (devices.length > many ? (
            <State tone="attention">{words.devices(devices.length)}</State>
          ) : (
            words.devices(devices.length)
          ))}
      </>
    )
  },
  gateway: function Gateway({ about }) {
    const is = useQuery(queries.gateway).data
    const holds = useQuery(settingsQuery).data?.holds
    if (!is) return about
    return (
      <>
        <State tone={tones[is.state] ?? 'danger'}>{settings.gateway.states[is.state] ?? is.state}</State>
        {is.version && ` · ${words.version(is.version)}`}
        {holds && !holds.in_runtime && is.connected_at !== null && (
          <>
            {' · '}
            {words.holdsOff}
          </>
        )}
      </>
    )
  },
  users: function Users({ about }) {
    const all = useQuery(queries.users).data
    const open = useConfig().data?.registration_enabled
    if (!all) return about
    const people = all.filter(u => u.role !== 'agent')
    const off = all.filter(u => !u.active).length
    return [
      words.people(people.length),
      words.agents(all.length - people.length),
      off > 0 && words.inactive(off),
      open && words.registration,
    ]
      .filter(Boolean)
      .join(' · ')
  },
  agents: function Agents({ about }) {
    const agents = useQuery(queries.agents).data
    const users = useQuery(queries.users).data
    if (!agents || !users) return about
    const rows = agentRows(agents, users)
    const without = rows.filter(r => r.account === null).length
    if (rows.length === 0) return settings.agents.none
    return without > 0 ? (
      <State tone="attention">{words.withoutAccount(without, rows.length)}</State>
    ) : (
      words.allAccounts(rows.length)
    )
  },
  teams: function Teams({ about }) {
    const all = useQuery(teamsQuery).data?.filter(t => t.archived_at === null)
    const connected = useQuery(queries.gateway).data?.state === 'connected'
    const jobs = useQuery({ ...jobsQuery, enabled: connected }).data?.rows
    if (!all) return about
    const job = jobs?.find(j => j.name === standupJob)
    const next = job?.next_runs[0]?.at
    const names = all.map(t => t.name).join(', ') || settings.teams.empty
    if (next) return `${names} · ${words.standup(moment(next, job?.schedule.tz || undefined))}`
    return jobs && !job ? `${names} · ${words.noStandup}` : names
  },
  projects: function Projects({ about }) {
    const all = useQuery(projectsQuery).data?.filter(p => p.archived_at === null)
    if (!all) return about
    return all.length === 0 ? settings.projects.empty : all.map(p => p.name).join(', ')
  },
  retention: function Retention({ about }) {
    const all = useQuery(settingsQuery).data?.retention
    if (!all) return about
    const of = settings.retention
    return all.map(d => `${of.settings[d.setting] ?? d.setting} ${of.kept(d.value).toLowerCase()}`).join(' · ')
  },
  audit: function Audit({ about }) {
    const last = useInfiniteQuery(auditQuery({})).data?.pages[0]?.rows[0]
    if (!last) return about
    return (
      <>
        {words.last} {settings.audit.said[last.kind] ?? last.kind} · <bdi>{last.actor.name}</bdi> · <Ago at={last.at} />
      </>
    )
  },
  health: function Health({ about }) {
    const config = useConfig().data
    const ready = useQuery(readyQuery)
    if (!config || ready.isPending) return about
    return (
      <>
        <State tone={ready.error ? 'danger' : 'active'}>{ready.error ? words.notReady : words.ready}</State>
        {` · ${words.version(config.version)} · ${config.timezone}`}
      </>
    )
  },
}
