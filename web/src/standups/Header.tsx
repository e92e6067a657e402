import { useState } from 'react'
import { dayIn } from '../app/days'
import { money, myZone, shortIn, span } from '../app/format'
import { useGatewayLacks } from '../app/gatewayLacks'
import { leads, useMe } from '../app/queries'
import { clock } from '../app/time'
import { standups } from '../texts/standups'
import { Button, IconButton } from '../ui/Button'
import { Clock } from '../ui/Clock'
import { Dialog } from '../ui/Dialog'
import { Menu, type MenuItem } from '../ui/Menu'
import { SubmitForm } from '../ui/SubmitForm'
import { copyTranscript, useCancel, useHold, useRemove } from './actions'
import { dayText, StandMark } from './Bits'
import { RunButton } from './RunButton'
import { type Standup, standOf, verbOf } from './standup'

const words = standups

/** The header of a standup: day, status, and actions. */
export function Header({ standup, onRemoved }: { standup: Standup; onRemoved: () => void }) {
  const verb = verbOf(standup)
  const cancel = useCancel()
  const manages = leads(useMe().data)
  const stand = standOf(standup)
  return (
    <div className="z-10 flex flex-col gap-1 bg-ground py-2 md:sticky md:top-0" data-head>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 className="font-semibold text-xl outline-none" tabIndex={-1}>
          <span className="hidden print:inline">{words.standup} </span>
          <span className="max-sm:hidden">{dayText(standup.date, 'long')}</span>
          <span className="sm:hidden">{dayText(standup.date)}</span>
        </h2>
        <StandMark of={stand} />
        <div className="no-print ml-auto flex flex-wrap items-center gap-2">
          {standup.status === 'running' && manages && (
            <Button busy={cancel.isPending} icon="close" look="danger" onClick={() => cancel.mutate(standup)}>
              {words.cancel}
            </Button>
          )}
          {verb && <RunButton id={standup.id} team={standup.team} verb={verb} />}
          <More onRemoved={onRemoved} standup={standup} />
        </div>
      </div>
      {/* The default title repeats the day. */}
      {!standup.title.includes(standup.date) && (
        <p className="wrap-anywhere text-soft">
          <bdi>{standup.title}</bdi>
        </p>
      )}
      <Facts standup={standup} />
    </div>
  )
}

function Facts({ standup: s }: { standup: Standup }) {
  const f = words.facts
  const facts = [
    s.started_at && s.completed_at && f.took(span(Date.parse(s.completed_at) - Date.parse(s.started_at))),
    s.status !== 'running' && s.transcript.some(l => l.kind === 'question') && f.cost(money(s.cost_usd)),
    s.attempt > 1 && f.attempt(s.attempt),
  ].filter(Boolean)
  const started = / started the standup( again)?\.$/
  const starter = s.transcript.findLast(l => l.kind === 'note' && started.test(l.text))?.text.replace(started, '')
  return (
    <p className="text-soft text-xs">
      {s.started_at && (
        <>
          {f.startedAt}{' '}
          <Clock at={s.started_at} zone={s.timezone}>
            {dayIn(Date.parse(s.started_at), undefined) === s.date
              ? clock(s.started_at, undefined)
              : shortIn(s.started_at)}
          </Clock>
          {/* Paper has no reader whose zone it could be. */}
          <span className="hidden print:inline"> ({myZone()})</span>{' '}
          {starter ? <bdi>{f.byName(starter)}</bdi> : f.by[s.trigger]}
        </>
      )}
      {facts.map(fact => ` · ${fact}`).join('')}
    </p>
  )
}

function More({ standup: s, onRemoved }: { standup: Standup; onRemoved: () => void }) {
  const me = useMe().data
  const lacks = useGatewayLacks()
  const [asks, setAsks] = useState<'again' | 'remove' | null>(null)
  const close = () => setAsks(null)
  const hold = useHold(close)
  const remove = useRemove(() => {
    close()
    onRemoved()
  })
  const items: MenuItem[] = [
    { id: 'print', label: words.print, onSelect: () => window.print() },
    ...(s.status !== 'running'
      ? [{ id: 'copy', label: words.copy, icon: 'copy' as const, onSelect: () => void copyTranscript(s.id) }]
      : []),
    ...(s.status === 'completed' && me?.role !== 'user'
      ? [
          {
            id: 'again',
            label: words.again,
            icon: 'reload' as const,
            disabled: lacks.runs !== null,
            ...(lacks.runs ? { help: lacks.runs } : {}),
            onSelect: () => setAsks('again'),
          },
        ]
      : []),
    ...(leads(me) && standOf(s) !== 'running'
      ? [
          {
            id: 'remove',
            label: words.remove,
            icon: 'close' as const,
            danger: true,
            onSelect: () => setAsks('remove'),
          },
        ]
      : []),
  ]
  return (
    <>
      <Menu groups={[{ items }]} trigger={<IconButton icon="more" label={words.actions} />} />
      <Dialog onClose={close} open={asks !== null} title={asks === 'again' ? words.again : words.remove}>
        <SubmitForm
          busy={hold.isPending || remove.isPending}
          look={asks === 'again' ? 'primary' : 'danger'}
          onCancel={close}
          onSend={() => (asks === 'again' ? hold.mutate({ id: s.id, team: s.team, again: true }) : remove.mutate(s))}
          submit={asks === 'again' ? words.again : words.remove}
        >
          <p>{asks === 'again' ? words.againText : words.removeText}</p>
        </SubmitForm>
      </Dialog>
    </>
  )
}
