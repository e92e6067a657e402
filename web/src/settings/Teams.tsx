import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { api, ifMatch, newKey, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { leads, queries, useMe } from '../app/queries'
import { useGo } from '../app/useGo'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { Field } from '../ui/Field'
import { Badge } from '../ui/State'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { Answer, Empty } from '../ui/Views'
import { Part, Refusal, refused } from './Bits'
import { teamsQuery } from './queries'
import { teamChange } from './rules'

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
      {words.create}
    </Button>
  )
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
                <Dialog onClose={() => go({ new: undefined }, true)} open={search.new === '1'} title={words.create}>
                  <Form onClose={() => go({ new: undefined }, true)} team={null} />
                </Dialog>
                <Edit onClose={() => go({ team: undefined }, true)} team={teams.find(t => t.key === search.team)} />
              </>
            )}
          </>
        )}
      </Answer>
    </Part>
  )
}

function Row({ team: t, onEdit }: { team: Team; onEdit: (() => void) | null }) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5" data-team={t.key}>
      <div className="min-w-0 grow basis-56">
        <p className="wrap-anywhere font-medium">
          <bdi>{t.name}</bdi> <span className="wrap-anywhere font-mono font-normal text-soft text-xs">{t.key}</span>
        </p>
        <p className="wrap-anywhere text-soft text-xs">
          {words.facilitator} <span className="wrap-anywhere font-mono text-xs">{t.facilitator}</span> ·{' '}
          {words.participants}: <span className="wrap-anywhere font-mono text-xs">{t.participants.join(', ')}</span>
        </p>
        {t.from_settings.includes('participants') && <p className="text-soft text-xs">{words.usual}</p>}
        <p className="text-soft text-xs">
          {words.inZone(t.timezone)} · {words.timeout} {t.agent_timeout} · {words.deadline} {t.deadline}
        </p>
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

function Edit({ team, onClose }: { team: Team | undefined; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} open={team !== undefined} title={words.editNamed(team?.name ?? '')}>
      {team && <Form key={team.id} onClose={onClose} team={team} />}
    </Dialog>
  )
}

const split = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

function useSave(team: Team | null, onClose: () => void) {
  const cache = useQueryClient()
  const [key, setKey] = useState(newKey)
  const [version, setVersion] = useState(team?.version ?? 0)
  return useMutation({
    mutationFn: (of: { made: Schemas['StandupNewTeam'] } | { changed: Schemas['StandupTeamChange'] }) =>
      'made' in of
        ? take(api.POST('/api/v1/teams', { body: of.made, headers: { 'Idempotency-Key': key } }))
        : take(
            api.PATCH('/api/v1/teams/{id}', {
              params: { path: { id: team?.id ?? '' }, header: ifMatch(version) },
              body: of.changed,
            }),
          ),
    onSuccess: next => {
      say(team ? words.saved(next.name) : words.created(next.name))
      void cache.invalidateQueries({ queryKey: teamsQuery.queryKey })
      onClose()
    },
    onError: err => {
      const problem = asProblem(err)
      if (problem.status > 0) setKey(newKey())
      if (typeof problem.facts.current_version === 'number') setVersion(problem.facts.current_version)
    },
  })
}

function Form({ team, onClose }: { team: Team | null; onClose: () => void }) {
  // The form keeps the version it was opened with.
  const [was] = useState(team)
  const save = useSave(team, onClose)
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
      <Field
        {...field('timezone')}
        defaultValue={team?.timezone}
        help={words.timezoneHelp}
        label={words.timezone + follows('timezone')}
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
      <div className="flex flex-wrap justify-end gap-2">
        {team && team.key !== 'executive' && (
          <Button
            busy={save.isPending}
            className="mr-auto"
            icon="archive"
            onClick={() => save.mutate({ changed: { archived: team.archived_at === null } })}
          >
            {team.archived_at ? words.restore : words.archive}
          </Button>
        )}
        <Button look="quiet" onClick={onClose}>
          {texts.ui.cancel}
        </Button>
        <Button busy={save.isPending} look="primary" type="submit">
          {team ? settings.save : words.create}
        </Button>
      </div>
    </SubmitForm>
  )
}
