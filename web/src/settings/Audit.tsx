import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useId, useMemo, useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import { useZone } from '../app/config'
import { age, moments } from '../app/format'
import { usePeople } from '../app/queries'
import { clock } from '../app/time'
import { useGo } from '../app/useGo'
import { texts } from '../texts'
import { controls } from '../texts/controls'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { DayField } from '../ui/DayField'
import { Select } from '../ui/Field'
import { Heads } from '../ui/Heads'
import { Icon } from '../ui/Icon'
import { LoadMore } from '../ui/LoadMore'
import { saveFile } from '../ui/saveFile'
import { sayFailed } from '../ui/toast'
import { useHeldRows } from '../ui/useHeldRows'
import { Empty, Failed, Skeleton, Stale } from '../ui/Views'
import { ForLeads, Part } from './Bits'
import { type AuditFilters, auditParams, auditQuery } from './queries'
import { facts } from './rules'

const auditRoute = getRouteApi('/frame/settings/audit')

const words = settings.audit
type Search = ReturnType<typeof auditRoute.useSearch>
type Event = Schemas['Event']

/** The audit log. Filters and open entries are in the URL. */
export function AuditPart() {
  const search = auditRoute.useSearch()
  const set = useGo<Search>('/settings/audit')
  const go = (change: Search) => set(change, true)
  const { kind, actor, since, until } = search
  const filters = useMemo(() => ({ kind, actor, since, until }), [kind, actor, since, until])
  return (
    <Part actions={<Csv filters={filters} />} id="audit">
      <ForLeads>
        <Filters go={go} search={search} />
        <List filters={filters} go={go} opened={search.event} />
      </ForLeads>
    </Part>
  )
}

const clear: Search = { kind: undefined, actor: undefined, since: undefined, until: undefined }

function Filters({ search, go }: { search: Search; go: (change: Search) => void }) {
  const people = usePeople()
  const actors = [
    ...Object.entries(words.actors).map(([value, label]) => ({ value, label })),
    ...[...people.values()].map(p => ({ value: p.id, label: p.name })),
  ]
  // The URL may contain an email, or a kind that is not listed.
  const known = (list: { value: string; label: string }[], value: string | undefined) =>
    !value || list.some(c => c.value === value) ? list : [...list, { value, label: value }]
  const kinds = Object.entries(words.kinds).map(([value, label]) => ({ value, label }))
  const any = Object.keys(clear).some(name => search[name as keyof Search])
  const [all, setAll] = useState(any)
  const hidden = all ? '' : 'max-sm:hidden'
  return (
    <div
      className={`mb-3 grid grid-cols-2 items-end gap-2 sm:grid-cols-3 ${any ? 'lg:grid-cols-[1fr_1fr_auto_auto_auto]' : 'lg:grid-cols-[1fr_1fr_auto_auto]'}`}
    >
      <Select
        choices={known(kinds, search.kind)}
        label={words.kind}
        onChange={e => go({ kind: e.target.value || undefined })}
        value={search.kind ?? ''}
      />
      <Select
        choices={known(actors, search.actor)}
        label={words.actor}
        onChange={e => go({ actor: e.target.value || undefined })}
        value={search.actor ?? ''}
      />
      {!all && (
        <Button className="max-sm:col-span-full sm:hidden" icon="filter" onClick={() => setAll(true)}>
          {words.more}
        </Button>
      )}
      <DayField
        className={hidden}
        label={words.since}
        onPick={since => go({ since })}
        placeholder={controls.anyDay}
        value={search.since ?? ''}
      />
      <DayField
        className={hidden}
        label={words.until}
        onPick={until => go({ until })}
        placeholder={controls.anyDay}
        value={search.until ?? ''}
      />
      {any && <Button onClick={() => go(clear)}>{words.clear}</Button>}
    </div>
  )
}

const idOf = (e: Event) => String(e.id)

function List({
  filters,
  opened,
  go,
}: {
  filters: AuditFilters
  opened: string | undefined
  go: (change: Search) => void
}) {
  const asked = useInfiniteQuery(auditQuery(filters))
  const rows = useMemo(() => {
    const seen = new Map<number, Event>()
    for (const page of asked.data?.pages ?? []) for (const e of page.rows) seen.set(e.id, e)
    // Events are stored in the order of their commits, some seconds after their times.
    return asked.data && [...seen.values()].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : b.id - a.id))
  }, [asked.data])
  // Rows that the user loads are shown at once; rows that arrive by themselves are held back.
  const held = useHeldRows(rows, idOf, `${JSON.stringify(filters)} ${asked.data?.pages.length ?? 0}`, false)
  if (held.rows === undefined) {
    return asked.error ? (
      <Failed again={() => void asked.refetch()} error={asked.error} what={`${texts.ui.couldNotLoad} ${words.what}.`} />
    ) : (
      <Skeleton label={`${texts.ui.loading} ${words.what}`} />
    )
  }
  const filtered = Object.values(filters).some(Boolean)
  return (
    <>
      {asked.error ? <Stale error={asked.error} since={asked.dataUpdatedAt} /> : null}
      {held.waiting > 0 && (
        <div className="flex justify-center pb-2">
          <Button icon="up" onClick={held.show}>
            {texts.ui.newRows(held.waiting)}
          </Button>
        </div>
      )}
      {held.rows.length === 0 ? (
        <Empty
          action={filtered ? <Button onClick={() => go(clear)}>{words.clear}</Button> : undefined}
          icon={filtered ? 'filter' : 'log'}
          title={filtered ? words.none : words.empty}
        >
          {filtered ? undefined : words.emptyText}
        </Empty>
      ) : (
        <>
          <Heads grid={grid} of={words.heads} />
          <ol aria-label={settings.parts.audit.name} className="hairline divide-y divide-line rounded-md">
            {held.rows.map(e => (
              <Row
                event={e}
                key={e.id}
                onToggle={() => go({ event: opened === idOf(e) ? undefined : idOf(e) })}
                open={opened === idOf(e)}
              />
            ))}
          </ol>
        </>
      )}
      <LoadMore className="justify-center" of={asked} />
    </>
  )
}

/** The day and the time of an entry in the local time zone, with its age in the tooltip. */
function LogTime({ at }: { at: string }) {
  return (
    <time
      className="whitespace-nowrap text-soft text-xs tabular-nums"
      dateTime={at}
      onPointerEnter={e => {
        e.currentTarget.title = words.ago(age(at, Date.now()))
      }}
    >
      {clock(at, undefined, 'second')}
    </time>
  )
}

/** Returns how often an event occurred if one entry stands for several occurrences, else null. */
const timesOf = (data: unknown): number | null =>
  typeof data === 'object' && data !== null && 'count' in data && typeof data.count === 'number' && data.count > 1
    ? data.count
    : null

/** Returns whether the runtime didn't confirm the action. */
const unsure = (data: unknown): boolean =>
  typeof data === 'object' && data !== null && 'confirmed' in data && data.confirmed === false

/** The columns on wide screens; the chevron has one of its own. */
const grid =
  'items-baseline gap-x-3 px-3 sm:grid sm:grid-cols-[1rem_8rem_minmax(0,1fr)_minmax(0,9rem)_minmax(0,9rem)_7rem]'

function Row({ event: e, open, onToggle }: { event: Event; open: boolean; onToggle: () => void }) {
  const id = useId()
  const times = e.kind.startsWith('login.') || e.kind.startsWith('password.') ? timesOf(e.data) : null
  return (
    <li data-event={e.kind}>
      <button
        aria-controls={open ? id : undefined}
        aria-expanded={open}
        className={`${grid} flex w-full flex-wrap gap-y-0.5 py-1.5 text-left hover:bg-hover`}
        onClick={onToggle}
        type="button"
      >
        <Icon className={`self-center text-soft ${open ? '' : '-rotate-90'}`} name="chevron" />
        <LogTime at={e.at} />
        <span className="wrap-anywhere min-w-0 max-sm:grow max-sm:basis-40">
          {words.said[e.kind] ?? <span className="font-mono text-xs">{e.kind}</span>}
          {times !== null && <span className="text-soft"> · {words.times(times)}</span>}
          {unsure(e.data) && <span className="text-soft"> · {words.unsure}</span>}
        </span>
        <bdi className="wrap-anywhere min-w-0 max-sm:pl-7">{e.actor.name}</bdi>
        <span className="wrap-anywhere min-w-0 max-sm:grow max-sm:pl-7">
          {e.subject.name && e.subject.name !== e.actor.name && (
            <>
              <span className="text-soft sm:hidden">{words.on} </span>
              <bdi>{e.subject.name}</bdi>
            </>
          )}
        </span>
        {e.from?.address && <span className="wrap-anywhere font-mono text-soft text-xs">{e.from.address}</span>}
      </button>
      {open && <Details event={e} id={id} />}
    </li>
  )
}

function Details({ event: e, id }: { event: Event; id: string }) {
  const zone = useZone()
  const all = facts(e.data)
  const changes = all.some(f => f.before !== undefined)
  return (
    <section
      aria-label={words.detailsOf(words.said[e.kind] ?? e.kind)}
      className="overflow-x-auto bg-panel px-3 py-2 text-xs"
      id={id}
    >
      <p className="whitespace-pre-line text-soft">{moments(e.at, zone)}</p>
      <p className="text-soft">
        {words.kindHead} <code className="wrap-anywhere select-all font-mono">{e.kind}</code>
      </p>
      <p className="wrap-anywhere text-soft">
        <bdi>{e.actor.name}</bdi>
        {e.from && ` ${words.via[e.from.via] ?? e.from.via}`}
        {e.from?.address && ` ${words.from} ${e.from.address}`}
        {' · '}
        {e.subject.kind} <span className="wrap-anywhere font-mono text-xs">{e.subject.id}</span>
      </p>
      {all.length === 0 ? (
        <p className="mt-1">{words.noFacts}</p>
      ) : (
        <table className="mt-2 w-full text-left">
          <caption className="sr-only">{words.facts}</caption>
          <thead className="text-soft">
            <tr>
              <th className="pr-3 font-normal" scope="col">
                {words.field}
              </th>
              {changes && (
                <th className="pr-3 font-normal" scope="col">
                  {words.before}
                </th>
              )}
              <th className="font-normal" scope="col">
                {changes ? words.after : words.facts}
              </th>
            </tr>
          </thead>
          <tbody>
            {all.map(f => (
              <tr className="border-line border-t align-top" key={f.field}>
                <th className="wrap-anywhere font-mono py-0.5 pr-3 font-normal text-xs" scope="row">
                  {f.field}
                </th>
                {changes && (
                  <td className="wrap-anywhere py-0.5 pr-3">
                    <bdi>{f.before === undefined ? '' : f.before || words.nothing}</bdi>
                  </td>
                )}
                <td className="wrap-anywhere py-0.5">
                  <bdi>{f.after || words.nothing}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

/** Downloads all matching entries. Fetched with the token, which a link can't send. */
function Csv({ filters }: { filters: AuditFilters }) {
  const get = useMutation({
    mutationFn: async () => {
      const query = { ...auditParams(filters), bom: true }
      const csv = await take(api.GET('/api/v1/audit.csv', { params: { query }, parseAs: 'blob' }))
      saveFile(`audit-${new Date().toISOString().slice(0, 10)}.csv`, csv)
    },
    onError: err => sayFailed(err),
  })
  return (
    <Button busy={get.isPending} icon="down" onClick={() => get.mutate()} title={words.csvHelp}>
      {words.csv}
    </Button>
  )
}
