import { useState } from 'react'
import { useTicking } from '../app/clock'
import { age, moment, money, span } from '../app/format'
import { leads, useMe } from '../app/queries'
import { texts } from '../texts'
import { standups } from '../texts/standups'
import { Button, IconButton } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { Menu, type MenuItem } from '../ui/Menu'
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
          {dayText(standup.date, 'long')}
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
      {/* The default title repeats the day, so it is only printed. */}
      <p className={`wrap-anywhere text-soft ${standup.title.includes(standup.date) ? 'hidden print:block' : ''}`}>
        <bdi>{standup.title}</bdi>
      </p>
      <Facts standup={standup} />
    </div>
  )
}

function Facts({ standup: s }: { standup: Standup }) {
  const f = words.facts
  const ended = useTicking(now => (s.completed_at ? age(s.completed_at, now) : null))
  const clock = (at: string) => moment(at, s.timezone).replace(/^.*, /, '').slice(0, 5)
  const facts = [
    s.started_at && `${f.startedAt} ${clock(s.started_at)}`,
    s.completed_at && `${f.endedAt} ${clock(s.completed_at)}`,
    s.started_at && s.completed_at && f.took(span(Date.parse(s.completed_at) - Date.parse(s.started_at))),
    s.status !== 'running' && s.transcript.some(l => l.kind === 'question') && f.cost(money(s.cost_usd)),
    s.attempt > 1 && f.attempt(s.attempt),
    f.by[s.trigger],
    s.timezone,
  ].filter(Boolean)
  return (
    <p className="text-soft text-xs">
      {facts.join(' · ')}
      {ended && <span className="no-print">{` · ${ended} ${f.ago}`}</span>}
    </p>
  )
}

function More({ standup: s, onRemoved }: { standup: Standup; onRemoved: () => void }) {
  const me = useMe().data
  const [asks, setAsks] = useState<'again' | 'remove' | null>(null)
  const items: MenuItem[] = [
    { id: 'print', label: words.print, onSelect: () => window.print() },
    ...(s.status !== 'running'
      ? [{ id: 'copy', label: words.copy, icon: 'copy' as const, onSelect: () => void copyTranscript(s.id) }]
      : []),
    ...(s.status === 'completed' && me?.role !== 'user'
      ? [{ id: 'again', label: words.again, icon: 'reload' as const, onSelect: () => setAsks('again') }]
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
      <Dialog onClose={() => setAsks(null)} open={asks !== null} title={asks === 'again' ? words.again : words.remove}>
        {asks === 'again' ? (
          <Again onClose={() => setAsks(null)} standup={s} />
        ) : (
          <Remove
            onClose={() => setAsks(null)}
            onRemoved={() => {
              setAsks(null)
              onRemoved()
            }}
            standup={s}
          />
        )}
      </Dialog>
    </>
  )
}

function Again({ standup, onClose }: { standup: Standup; onClose: () => void }) {
  const hold = useHold(onClose)
  return (
    <>
      <p>{words.againText}</p>
      <div className="mt-4 flex justify-end gap-2">
        <Button look="quiet" onClick={onClose}>
          {texts.ui.cancel}
        </Button>
        <Button
          busy={hold.isPending}
          look="primary"
          onClick={() => hold.mutate({ id: standup.id, team: standup.team, again: true })}
        >
          {words.again}
        </Button>
      </div>
    </>
  )
}

function Remove({ standup, onClose, onRemoved }: { standup: Standup; onClose: () => void; onRemoved: () => void }) {
  const remove = useRemove(onRemoved)
  return (
    <>
      <p>{words.removeText}</p>
      <div className="mt-4 flex justify-end gap-2">
        <Button look="quiet" onClick={onClose}>
          {texts.ui.cancel}
        </Button>
        <Button busy={remove.isPending} look="danger" onClick={() => remove.mutate(standup)}>
          {words.remove}
        </Button>
      </div>
    </>
  )
}
