import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { moment, myZone } from '../app/format'
import { queries } from '../app/queries'
import { Times } from '../schedules/Times'
import { Command, Note, Refusal, refused } from '../settings/Bits'
import { useMakeKey } from '../settings/Keys'
import { jobsQuery, scheduleQuery } from '../settings/queries'
import { Secret } from '../settings/Secret'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import { welcome } from '../texts/welcome'
import { Button } from '../ui/Button'
import { Field } from '../ui/Field'
import { State } from '../ui/State'
import { SubmitForm } from '../ui/SubmitForm'
import { Answer, Skeleton } from '../ui/Views'
import { adminScope } from './Connect'
import { type Known, standupJob } from './steps'

const words = welcome.standup

/** Creates the standup job, and the API key it uses. */
export function Standup({ known }: { known: Known }) {
  if (!known.gateway) return <Skeleton label={`${texts.ui.loading} ${standupJob}`} rows={3} />
  return (
    <>
      <p>{words.text}</p>
      {known.jobs?.some(j => j.name === standupJob) ? <There /> : <Form scopes={known.gateway.scopes_granted} />}
    </>
  )
}

function Form({ scopes }: { scopes: readonly string[] }) {
  const cache = useQueryClient()
  const [expr, setExpr] = useState('0 9 * * 1-5')
  const [zone, setZone] = useState(myZone)
  const set = useMutation({
    mutationFn: (body: Schemas['StandupPlan']) => take(api.POST('/api/v1/standups/schedule', { body })),
    onSuccess: next => {
      cache.setQueryData(scheduleQuery.queryKey, next)
      void cache.invalidateQueries({ queryKey: jobsQuery.queryKey })
    },
  })
  // Shown when the scope is missing, or when the server reported that it is.
  const lacks = !scopes.includes('operator.admin') || (set.error && asProblem(set.error).code === 'missing_scope')
  const address = refused(set.error, 'service_url')
  return (
    <SubmitForm
      className="max-w-md gap-3"
      onSend={text => {
        const url = text('url')
        set.mutate({ expr, timezone: zone, ...(url ? { service_url: url } : {}) })
      }}
    >
      <Times
        errors={{ expr: refused(set.error, 'expr'), zone: refused(set.error, 'timezone') }}
        expr={expr}
        onChange={next => {
          setExpr(next.expr)
          setZone(next.zone)
        }}
        once=""
        zone={zone}
      />
      {address !== undefined && (
        <Field
          error={address}
          help={words.addressHelp}
          inputMode="url"
          label={words.address}
          name="url"
          spellCheck={false}
        />
      )}
      <Refusal error={set.error} />
      {lacks && (
        <div className="flex flex-col gap-1.5">
          <p>{words.scope}</p>
          <Command text={adminScope} />
        </div>
      )}
      <div>
        <Button busy={set.isPending} look="primary" type="submit">
          {words.create}
        </Button>
      </div>
    </SubmitForm>
  )
}

function There() {
  const asked = useQuery(scheduleQuery)
  return (
    <Answer of={asked} rows={3} what={standupJob}>
      {is => (
        <>
          <p>
            <State tone="done">{words.there}</State>{' '}
            <span className="wrap-anywhere font-mono text-xs">{is.job.name}</span>
          </p>
          {is.next_runs[0] ? (
            <p>
              {words.nextRuns}: {moment(is.next_runs[0], is.job.schedule.tz || undefined)}
            </p>
          ) : (
            <p>{words.never}</p>
          )}
          {is.warnings.map(w => (
            <Note key={w} tone="attention">
              <bdi>{w}</bdi>
            </Note>
          ))}
          <GatewayKey agent={is.job.agentId} variable={is.variable} />
        </>
      )}
    </Answer>
  )
}

/** Creates the API key for the job, shown once as a line for the environment. */
function GatewayKey({ agent, variable }: { agent: string; variable: string }) {
  const account = useQuery(queries.users).data?.find(u => u.agent_id === agent && u.active)
  const [secret, setSecret] = useState<string | null>(null)
  const make = useMakeKey(setSecret)
  if (secret !== null) {
    return (
      <Secret
        done={settings.agents.done}
        lines={[[words.environment, `${variable}=${secret}`]]}
        onDone={() => setSecret(null)}
        title={settings.agents.onceTitle}
        warning={settings.agents.once}
      />
    )
  }
  return (
    <div className="flex flex-col items-start gap-2">
      <p className="wrap-anywhere">{words.key(agent)}</p>
      {account ? (
        <Button busy={make.isPending} onClick={() => make.mutate({ user: account.id, body: { name: words.keyName } })}>
          {words.makeKey}
        </Button>
      ) : (
        <p className="text-attention">{words.noAccount(agent)}</p>
      )}
      <Refusal error={make.error} />
    </div>
  )
}
