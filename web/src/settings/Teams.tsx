import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import { leads, queries, useMe } from '../app/queries'
import { useGo } from '../app/useGo'
import { isStandupJob, teamOf } from '../schedules/job'
import { settings } from '../texts/settings'
import { Button, buttonClass } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { AgentName } from '../ui/Face'
import { Field } from '../ui/Field'
import { Icon } from '../ui/Icon'
import { Badge } from '../ui/State'
import { SubmitForm } from '../ui/SubmitForm'
import { Answer, Empty } from '../ui/Views'
import { ZoneField } from '../ui/ZoneField'
import { Part, Refusal, refused } from './Bits'
import { jobsQuery, teamsQuery } from './queries'
import { teamChange } from './rules'
import { SaveButtons, useSave } from './useSave'

const teamsRoute = getRouteApi('/frame/settings/teams')

const words = settings.teams
type Team = Schemas['StandupTeam']

/** The standup teams. Everyone can read them; the owner and admins can change them. */
export function TeamsPart() {
  const search = teamsRoute.useSearch()
  const go = useGo<typeof search>('/settings/teams')
  const asked = useQuery(teamsQuery)
  const me = useMe().data
  const may = leads(me)
  const add = (
    <Button icon="plus" look="primary" onClick={() => go({ new: '1' })}>
      {words.add}
    </Button>
  )
  const close = () => go({ new: undefined, team: undefined }, true)
  const edited = asked.data?.find(t => t.key === search.team)
  return (
    <Part actions={add} id="teams">
      {me && !may && <p className="mb-3 text-attention text-xs">{words.readOnly}</p>}
      <Answer of={asked} what={words.what}>
        {teams => (
          <>
            {teams.length === 0 ? (
              <Empty icon="standups" title={words.empty} />
            ) : (
              <ul aria-label={settings.parts.teams.name} className="hairline divide-y divide-line rounded-md">
                {teams.map(t => (
                  <Row key={t.id} onEdit={may ? () => go({ team: t.key }) : null} team={t} />
                ))}
              </ul>
            )}
            {may && (
              <>
                <Dialog onClose={close} open={search.new === '1'} title={words.add}>
                  <Form onClose={close} team={null} />
                </Dialog>
                <Dialog onClose={close} open={edited !== undefined} title={words.editNamed(edited?.name ?? '')}>
                  {edited && <Form key={edited.id} onClose={close} team={edited} />}
                </Dialog>
              </>
            )}
          </>
        )}
      </Answer>
    </Part>
  )
}

function Row({ team: t, onEdit }: { team: Team; onEdit: (() => void) | null }) {
  const connected = useQuery(queries.gateway).data?.state === 'connected'
  const jobs = useQuery({ ...jobsQuery, enabled: connected && t.archived_at === null }).data
  // An incomplete list can't tell that a job is missing.
  const job =
    jobs &&
    (jobs.rows.find(j => isStandupJob(j.name) && teamOf(j.name) === t.key) ?? (jobs.next === null ? null : undefined))
  return (
    <li className="flex items-start gap-x-3 px-3 py-2" data-team={t.key}>
      <div className="min-w-0 grow">
        <p className="wrap-anywhere font-medium">
          <bdi>{t.name}</bdi>
        </p>
        <div className="my-1 flex flex-wrap items-center gap-x-6 gap-y-1">
          <span className="flex items-center gap-x-3">
            <span className="text-soft">{words.facilitator}</span> <Member id={t.facilitator} />
          </span>
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span className="text-soft">{words.participants}</span>
            {t.participants.map(id => (
              <Member id={id} key={id} />
            ))}
          </span>
        </div>
        <p className="text-soft text-xs">
          {words.inZone(t.timezone)} · {words.times(durationText(t.agent_timeout), durationText(t.deadline))}
        </p>
        {job === null && onEdit && (
          <p className="mt-2">
            <Link className={buttonClass()} search={{ form: 'standup' }} to="/schedules">
              <Icon name="standups" />
              {words.addStandup}
            </Link>
          </p>
        )}
      </div>
      {t.archived_at && (
        <Badge icon="archive" tone="idle">
          {words.archived}
        </Badge>
      )}
      {onEdit && (
        <Button aria-label={words.editNamed(t.name)} onClick={onEdit}>
          {words.edit}
        </Button>
      )}
    </li>
  )
}

/** Returns a duration of the API with its units as the screens write them: 90s as 90 s, 20m as 20 min. */
const durationText = (of: string): string =>
  of.replace(/(\d+)([a-z]+)/g, (_, n: string, unit: string) => ` ${n}\u00a0${unit === 'm' ? 'min' : unit}`).trim()

/** An agent of a team, by its name if it has one. */
function Member({ id }: { id: string }) {
  const name = useQuery(queries.agents).data?.find(a => a.agent_id === id)?.name
  return <AgentName id={id} name={name ?? id} />
}

const split = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

const kind = {
  create: (body: Schemas['StandupNewTeam'], headers: { 'Idempotency-Key': string }) =>
    take(api.POST('/api/v1/teams', { body, headers })),
  change: (id: string, body: Schemas['StandupTeamChange'], header: { 'If-Match': string }) =>
    take(api.PATCH('/api/v1/teams/{id}', { params: { path: { id }, header }, body })),
  words,
  stale: [teamsQuery.queryKey],
}

function Form({ team, onClose }: { team: Team | null; onClose: () => void }) {
  // The form keeps the version it was opened with.
  const [was] = useState(team)
  const save = useSave(kind, team, onClose)
  const agents = useQuery(queries.agents).data
  const error = save.error
  const field = (name: keyof Schemas['StandupNewTeam']) => ({ error: refused(error, name), name, spellCheck: false })
  const follows = (name: string) => (team?.from_settings.includes(name) ? ` (${words.follows})` : '')
  return (
    <SubmitForm
      onSend={text => {
        const optional = (name: 'timezone' | 'agent_timeout' | 'deadline') => (text(name) ? { [name]: text(name) } : {})
        const now = {
          name: text('name'),
          facilitator: text('facilitator'),
          participants: split(text('participants')),
          ...optional('timezone'),
          ...optional('agent_timeout'),
          ...optional('deadline'),
        }
        if (!was) return save.mutate({ made: { key: text('key'), ...now } })
        const changed = teamChange(was, now)
        if (Object.keys(changed).length === 0) return onClose()
        save.mutate({ changed })
      }}
    >
      {!team && <Field {...field('key')} help={words.keyHelp} label={words.key} maxLength={30} required />}
      <Field {...field('name')} defaultValue={team?.name} label={words.name} maxLength={100} required />
      <Field
        {...field('facilitator')}
        defaultValue={team?.facilitator}
        help={words.facilitatorHelp}
        label={words.facilitator + follows('facilitator')}
        list="settings-agents"
        required
      />
      <Field
        {...field('participants')}
        defaultValue={team?.participants.join(', ')}
        help={words.participantsHelp}
        label={words.participants + follows('participants')}
        required
      />
      <datalist id="settings-agents">
        {agents?.map(a => (
          <option key={a.agent_id} value={a.agent_id} />
        ))}
      </datalist>
      <ZoneField
        defaultValue={team?.timezone}
        error={refused(error, 'timezone')}
        label={words.timezone + follows('timezone')}
        name="timezone"
      />
      <div className="grid grid-cols-1 gap-3 min-[26rem]:grid-cols-2">
        <Field
          {...field('agent_timeout')}
          defaultValue={team?.agent_timeout}
          help={words.limitHelp}
          label={words.timeout + follows('agent_timeout')}
          placeholder="2m"
        />
        <Field
          {...field('deadline')}
          defaultValue={team?.deadline}
          help={words.limitHelp}
          label={words.deadline + follows('deadline')}
          placeholder="20m"
        />
      </div>
      <Refusal error={error} />
      <SaveButtons
        archived={team ? team.archived_at !== null : undefined}
        busy={save.isPending}
        onArchive={team?.key === 'executive' ? undefined : archived => save.mutate({ changed: { archived } })}
        onClose={onClose}
        words={words}
      />
    </SubmitForm>
  )
}
