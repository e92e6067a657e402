import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ifMatch, take } from '../api/client'
import { asProblem } from '../api/problem'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { say } from '../ui/toast'
import { Answer } from '../ui/Views'
import { Confirm, Group, OwnPassword, ownPassword } from './Bits'
import { settingsQuery } from './queries'

const words = settings.gateway.holds

/** Whether Wardroom may hold agents in the runtime, and a button to change that. */
export function Holds() {
  const cache = useQueryClient()
  const asked = useQuery(settingsQuery)
  const [open, setOpen] = useState(false)
  const version = asked.data?.version
  const save = useMutation({
    mutationFn: (body: { holds: { in_runtime: boolean }; current_password?: string }) =>
      take(
        api.PATCH('/api/v1/settings', {
          ...(version === undefined ? {} : { params: { header: ifMatch(version) } }),
          body,
        }),
      ),
    onSuccess: next => {
      cache.setQueryData(settingsQuery.queryKey, next)
      say(next.holds.in_runtime ? words.allowed : words.forbidden)
      setOpen(false)
    },
    onError: err => asProblem(err).status === 412 && cache.invalidateQueries({ queryKey: settingsQuery.queryKey }),
    // Don't keep the password in the mutation cache.
    gcTime: 0,
  })
  return (
    <Answer of={asked} rows={2} what={settings.gateway.access.what}>
      {({ holds: { in_runtime: on } }) => (
        <Group
          actions={<Button onClick={() => setOpen(true)}>{on ? words.forbid : words.allow}</Button>}
          id="holds"
          title={words.title}
        >
          <p>{on ? words.on : words.off}</p>
          <p className="text-soft">{words.means}</p>
          <Confirm
            look={on ? 'danger' : 'primary'}
            of={save}
            onClose={() => setOpen(false)}
            onYes={form => save.mutate({ holds: { in_runtime: !on }, ...ownPassword(form) })}
            open={open}
            title={on ? words.forbidTitle : words.allowTitle}
            yes={on ? words.forbid : words.allow}
          >
            <p>{on ? words.forbidText : words.allowText}</p>
            {!on && <OwnPassword error={save.error} help="" />}
          </Confirm>
        </Group>
      )}
    </Answer>
  )
}
