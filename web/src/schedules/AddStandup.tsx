import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { teamsQuery } from '../agents/queries'
import { api, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { myZone } from '../app/format'
import { useAgentNames } from '../sessions/Bits'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Dialog } from '../ui/Dialog'
import { Field, Select } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { noteOwn } from '../ui/useHeldRows'
import { Answer } from '../ui/Views'
import { Refused } from './Fields'
import { jobsQuery, standupQuery } from './queries'
import { Times } from './Times'

const words = scheduleTexts.form

interface Props {
  onClose: () => void
  onDone: (id: string) => void
}

/** The dialog that adds the daily standup job. */
export function AddStandup({ open, ...rest }: Props & { open: boolean }) {
  return (
    <Dialog onClose={rest.onClose} open={open} title={words.standup} wide>
      <Teams {...rest} />
    </Dialog>
  )
}

function Teams(props: Props) {
  const asked = useQuery(teamsQuery)
  return (
    <Answer of={asked} rows={3} what={words.teamWhat}>
      {teams => <Form {...props} teams={teams} />}
    </Answer>
  )
}

function Form({ teams, onClose, onDone }: Props & { teams: readonly Schemas['StandupTeam'][] }) {
  const cache = useQueryClient()
  const first = teams.find(t => t.key === 'executive') ?? teams[0]
  const names = useAgentNames()
  const [team, setTeam] = useState(first?.key ?? 'executive')
  const [expr, setExpr] = useState('0 9 * * 1-5')
  const [zone, setZone] = useState(myZone)
  const [url, setURL] = useState('')
  const add = useMutation({
    mutationFn: () => {
      const body = {
        team,
        expr: expr.trim(),
        enabled: true,
        ...(zone.trim() ? { timezone: zone.trim() } : {}),
        ...(url.trim() ? { service_url: url.trim() } : {}),
      }
      return take(api.POST('/api/v1/standups/schedule', { body }))
    },
    onSuccess: async answer => {
      noteOwn(answer.job.id)
      cache.setQueryData(standupQuery(answer.team).queryKey, answer)
      await cache.invalidateQueries({ queryKey: jobsQuery.queryKey })
      say(words.standupAdded)
      onDone(answer.job.id)
    },
  })
  const problem = add.error ? asProblem(add.error) : null
  const form = useRef<HTMLFormElement>(null)
  // Otherwise the dialog's close button has the focus.
  useEffect(() => form.current?.querySelector<HTMLElement>('button')?.focus(), [])
  return (
    <SubmitForm
      ref={form}
      busy={add.isPending}
      onCancel={onClose}
      onSend={() => !add.isPending && add.mutate()}
      submit={words.submitStandup}
    >
      <p>{words.standupIntro(names.get(teams.find(t => t.key === team)?.facilitator ?? '') || words.facilitator)}</p>
      {teams.length > 1 && (
        <Select
          choices={teams.map(t => ({ value: t.key, label: t.name }))}
          error={problem?.of('team')}
          label={words.team}
          onChange={e => setTeam(e.target.value)}
          value={team}
        />
      )}
      <Times
        errors={{ expr: problem?.of('expr'), zone: problem?.of('timezone') }}
        expr={expr}
        onChange={next => {
          setExpr(next.expr)
          setZone(next.zone)
        }}
        once=""
        zone={zone}
      />
      <details open={problem?.of('service_url') !== undefined}>
        <summary className="mb-2 w-fit cursor-pointer text-soft hover:text-ink">{words.advanced}</summary>
        <Field
          error={problem?.of('service_url')}
          help={scheduleTexts.help.url}
          label={words.url}
          maxLength={300}
          onChange={e => setURL(e.target.value)}
          placeholder="https://ops.example.com"
          type="url"
          value={url}
        />
      </details>
      <Refused problem={problem} />
    </SubmitForm>
  )
}
