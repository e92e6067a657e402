import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../api/client'
import { headline } from '../app/headline'
import { rereadSoon } from '../app/live/patches'
import { leads, useMe } from '../app/queries'
import { inbox as inboxWords } from '../texts/inbox'
import { now as nowWords } from '../texts/now'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { State, type Tone } from '../ui/State'
import { standupHref, TextLink } from '../ui/TextLink'
import { say, sayFailed } from '../ui/toast'
import { Answer } from '../ui/Views'
import { Card, Nothing } from './Card'
import { standupQuery } from './queries'

const words = nowWords.last
type Brief = Schemas['StandupBrief']

const look: Record<Brief['status'], Tone> = { running: 'active', completed: 'done', error: 'danger' }

/** The summary of the last standup, or why it failed. */
export function LastStandup({ className }: { className: string }) {
  const asked = useQuery(standupQuery)
  return (
    <Card className={className} title={words.title} to={{ path: '/standups', label: words.toStandups }}>
      <Answer of={asked} rows={2} what={words.what}>
        {last => (last ? <Brief of={last} /> : <Nothing title={words.none} />)}
      </Answer>
    </Card>
  )
}

function Brief({ of }: { of: Brief }) {
  const answered = of.reports.filter(r => r.status === 'answered').length
  const silent = of.reports.filter(r => ['timed_out', 'failed', 'missing'].includes(r.status))
  const at = of.completed_at ?? of.started_at ?? of.created_at
  const line = of.status === 'error' ? (of.error?.detail ?? null) : headline(of.summary)
  return (
    <div className="flex flex-col gap-1.5 p-3">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <State tone={look[of.status]}>{words.status[of.status]}</State>
        <TextLink className="min-w-0 truncate hover:underline" href={standupHref(of.id)}>
          <bdi>{of.title}</bdi>
        </TextLink>
        <span className="text-soft text-xs">
          <Age at={at} /> {inboxWords.ago}
        </span>
      </p>
      {line !== null ? (
        <p className="wrap-anywhere line-clamp-4">
          <bdi>{line}</bdi>
        </p>
      ) : (
        of.status === 'completed' && <p className="text-soft">{words.noSummary}</p>
      )}
      <p className="flex flex-wrap gap-x-3 text-soft text-xs">
        <span>{words.answered(answered, of.reports.length)}</span>
        {silent.length > 0 && <bdi className="text-attention">{words.silent(silent.map(r => r.name).join(', '))}</bdi>}
      </p>
      {of.status === 'error' && <Retry id={of.id} />}
    </div>
  )
}

/** Retries the standup, which asks only for missing answers. Hidden from users who may not run standups. */
function Retry({ id }: { id: string }) {
  const cache = useQueryClient()
  const me = useMe().data
  const retry = useMutation({
    mutationFn: () => take(api.POST('/api/v1/standups/{id}/run', { params: { path: { id } }, body: {} })),
    onSuccess: () => {
      say(words.started)
      rereadSoon(cache, standupQuery.queryKey)
    },
    onError: err => sayFailed(err),
  })
  if (!leads(me)) return null
  return (
    <Button busy={retry.isPending} className="self-start" icon="reload" onClick={() => retry.mutate()}>
      {words.retry}
    </Button>
  )
}
