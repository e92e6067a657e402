import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { api, ifMatch, take } from '../api/client'
import { useKeys } from '../app/keys'
import { queries, useMe } from '../app/queries'
import { useGo } from '../app/useGo'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { Face } from '../ui/Face'
import { Field, Select } from '../ui/Field'
import { Heads } from '../ui/Heads'
import { MenuButton, type OpenMenu, useSharedMenu } from '../ui/SharedMenu'
import { Badge } from '../ui/State'
import { say, sayFailed } from '../ui/toast'
import { useDebouncedInput } from '../ui/useDebouncedInput'
import { Answer, Empty, Partial } from '../ui/Views'
import { Ago, Confirm, ForLeads, OwnPassword, ownPassword, Part } from './Bits'
import { byRank, mayChange, needsPassword, type User, userFits } from './rules'
import { CreateUser, EditUser } from './UserDialogs'

const usersRoute = getRouteApi('/frame/settings/users')

const words = settings.users
type Search = ReturnType<typeof usersRoute.useSearch>

/** The accounts. Filters and the open account are in the URL. */
export function UsersPart() {
  const search = usersRoute.useSearch()
  const go = useGo<Search>('/settings/users')
  useKeys([{ keys: 'c', label: words.add, run: () => go({ new: '1' }) }])
  return (
    <Part
      actions={
        <Button icon="plus" look="primary" onClick={() => go({ new: '1' })}>
          {words.add}
        </Button>
      }
      id="users"
    >
      <ForLeads>
        <List go={go} search={search} />
      </ForLeads>
    </Part>
  )
}

type Go = (change: Search, replace?: boolean) => void

function Filters({ search, go }: { search: Search; go: Go }) {
  const [typed, type] = useDebouncedInput(search.q ?? '', q => go({ q }, true))
  const roles = [
    { value: '', label: words.allRoles },
    ...['owner', 'admin', 'user', 'agent'].map(r => ({ value: r, label: settings.roles[r] ?? r })),
  ]
  return (
    <div className="mb-3 grid grid-cols-2 gap-2 min-[30rem]:grid-cols-[1fr_8rem_8rem]">
      <Field
        className="col-span-2 min-[30rem]:col-span-1"
        hideLabel
        label={words.find}
        onChange={e => type(e.target.value)}
        placeholder={words.find}
        type="search"
        value={typed}
      />
      <Select
        choices={roles}
        hideLabel
        label={words.role}
        onChange={e => go({ role: (e.target.value || undefined) as Search['role'] }, true)}
        value={search.role ?? ''}
      />
      <Select
        choices={['all', 'active', 'inactive'].map(s => ({
          value: s === 'all' ? '' : s,
          label: words.showing[s] ?? s,
        }))}
        hideLabel
        label={words.show}
        onChange={e => go({ show: (e.target.value || undefined) as Search['show'] }, true)}
        value={search.show ?? ''}
      />
    </div>
  )
}

/** From this many accounts on, the list has filters. */
const many = 20
const listClass = 'hairline divide-y divide-line rounded-md'
/** The columns on wide screens; the face has one of its own. */
const grid = 'items-center gap-x-3 px-3 sm:grid sm:grid-cols-[1.75rem_minmax(0,1fr)_6rem_8rem_9rem]'

function List({ search, go }: { search: Search; go: Go }) {
  const asked = useQuery(queries.users)
  const me = useMe().data
  const [turning, setTurning] = useState<User | null>(null)
  const [onMenu, menu] = useSharedMenu()
  const { q, role, show } = search
  const rows = useMemo(
    () => asked.data?.filter(u => userFits(u, { q, role, show })).sort(byRank),
    [asked.data, q, role, show],
  )
  const filtered = Boolean(q || role || show)
  const people = rows?.filter(u => u.role !== 'agent') ?? []
  const agents = rows?.filter(u => u.role === 'agent') ?? []
  const row = (u: User) => (
    <Row key={u.id} me={me} onEdit={() => go({ user: u.id })} onMenu={onMenu} onTurn={setTurning} user={u} />
  )
  return (
    <Answer of={asked} what={words.what}>
      {all => (
        <>
          {(filtered || all.length >= many) && <Filters go={go} search={search} />}
          {all.length >= 500 && <Partial>{words.cut(all.length)}</Partial>}
          {rows?.length === 0 ? (
            <Empty
              action={
                <Button onClick={() => go({ q: undefined, role: undefined, show: undefined })}>{words.clear}</Button>
              }
              icon="filter"
              title={words.none}
            />
          ) : (
            <>
              {people.length > 0 && <Heads grid={grid} of={words.heads} />}
              {people.length > 0 && (
                <ul aria-label={settings.parts.users.name} className={listClass}>
                  {people.map(row)}
                </ul>
              )}
              {agents.length > 0 && (
                <details className="mt-4" open={filtered}>
                  <summary className="mb-2 w-fit cursor-pointer text-soft hover:text-ink">
                    {words.agents(agents.length)}
                  </summary>
                  <ul aria-label={words.agents(agents.length)} className={listClass}>
                    {agents.map(row)}
                  </ul>
                </details>
              )}
            </>
          )}
          {me && <CreateUser me={me} onClose={() => go({ new: undefined }, true)} open={search.new === '1'} />}
          {me && search.user && (
            <EditUser
              me={me}
              onClose={() => go({ user: undefined }, true)}
              user={all.find(u => u.id === search.user)}
            />
          )}
          {menu}
          <Turn onClose={() => setTurning(null)} user={all.find(u => u.id === turning?.id) ?? null} />
        </>
      )}
    </Answer>
  )
}

function Row({
  user,
  me,
  onEdit,
  onTurn,
  onMenu,
}: {
  user: User
  me: User | undefined
  onEdit: () => void
  onTurn: (user: User) => void
  onMenu: OpenMenu
}) {
  const may = me ? mayChange(me, user) : null
  const setActive = useSetActive()
  const turn = {
    id: 'turn',
    label: user.active ? words.deactivate : words.activate,
    danger: user.active,
    onSelect: () =>
      user.active || needsPassword(user, { active: true })
        ? onTurn(user)
        : setActive.mutate({ user, active: true }, { onError: err => sayFailed(err) }),
  }
  return (
    <li className={`${grid} flex py-1.5 max-sm:gap-x-2`} data-user={user.id}>
      <Face agent={user.agent_id} name={user.name} size="md" />
      <div className="min-w-0 grow basis-0">
        <p className={`wrap-anywhere font-medium ${user.active ? '' : 'text-soft'}`}>
          <bdi>{user.name}</bdi>
          {user.id === me?.id && <span className="font-normal text-soft"> ({words.you})</span>}{' '}
          {!user.active && <Badge tone="attention">{settings.state.inactive}</Badge>}
        </p>
        <p className="truncate text-soft text-xs" title={user.email}>
          <bdi>{user.email}</bdi>
        </p>
      </div>
      <span className="min-w-0 shrink-0 text-sm">
        {settings.roles[user.role]}
        {user.agent_id && <span className="key block truncate text-soft text-xs max-sm:hidden">{user.agent_id}</span>}
      </span>
      <span className="text-soft text-xs max-sm:hidden">
        {user.last_login_at ? <Ago at={user.last_login_at} /> : user.role !== 'agent' && words.neverIn}
      </span>
      <span className="flex shrink-0 items-center gap-1 sm:justify-end">
        {may?.any ? (
          <>
            <Button aria-label={words.editNamed(user.name)} onClick={onEdit}>
              {words.edit}
            </Button>
            {may.active && (
              <MenuButton groups={() => [{ items: [turn] }]} label={words.actionsFor(user.name)} onMenu={onMenu} />
            )}
          </>
        ) : (
          <span className="max-w-48 text-right text-soft text-xs">{words.ownerOnly}</span>
        )}
      </span>
    </li>
  )
}

/** Activates or deactivates an account. */
function useSetActive() {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ user, ...body }: { user: User; active: boolean; current_password?: string }) =>
      take(
        api.PATCH('/api/v1/users/{id}', {
          params: { path: { id: user.id }, header: ifMatch(user.version) },
          body,
        }),
      ),
    onSuccess: next => {
      cache.setQueryData<User[]>(queries.users.queryKey, was => was?.map(u => (u.id === next.id ? next : u)))
      void cache.invalidateQueries({ queryKey: queries.agents.queryKey })
      say(next.active ? words.activated(next.name) : words.deactivated(next.name))
    },
    onError: () => void cache.invalidateQueries({ queryKey: queries.users.queryKey }),
    gcTime: 0, // don't keep the password in the mutation cache
  })
}

/** Confirms deactivating an account, or reactivating an admin. */
function Turn({ user, onClose }: { user: User | null; onClose: () => void }) {
  const setActive = useSetActive()
  const active = user?.active === false
  return (
    <Confirm
      of={setActive}
      look={active ? 'primary' : 'danger'}
      onClose={onClose}
      onYes={form => user && setActive.mutate({ user, active, ...ownPassword(form) }, { onSuccess: onClose })}
      open={user !== null}
      title={(active ? words.activateTitle : words.deactivateTitle)(user?.name ?? texts.app.me)}
      yes={active ? words.activate : words.deactivate}
    >
      <p>{active ? words.activateText : words.deactivateText}</p>
      {user && needsPassword(user, { active }) && <OwnPassword error={setActive.error} />}
    </Confirm>
  )
}
