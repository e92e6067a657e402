import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useRouter } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useApprove } from '../acting/useApprove'
import { useWhyNotReview } from '../acting/useWhyNotReview'
import { teamsQuery } from '../agents/queries'
import type { Schemas } from '../api/client'
import { home, pageHere } from '../app/base'
import { useGatewayLacks } from '../app/gatewayLacks'
import { places } from '../app/places'
import { leads, queries, useMe } from '../app/queries'
import { recentVisits } from '../app/recent'
import { session } from '../app/session'
import { setView } from '../app/view'
import { actsOf, needs, reviewOf, taskOf } from '../inbox/item'
import { listQuery } from '../inbox/queries'
import { reasonOf } from '../inbox/reason'
import type { ItemActions } from '../inbox/useItemActions'
import { useHold } from '../standups/actions'
import { oneQuery } from '../tasks/queries'
import { texts } from '../texts'
import type { Entry } from './paletteEntries'

const words = texts.app.palette
const filters = {}

/** Returns the last visited things, except the one on the screen. */
export function useRecent(): Entry[] {
  const cache = useQueryClient()
  const { history } = useRouter()
  return useMemo(
    () =>
      recentVisits()
        .filter(v => v.href !== pageHere())
        .map(({ title, href }) => {
          const task = cache.getQueryData<Schemas['Task']>(oneQuery(title).queryKey)
          return {
            id: href,
            group: words.recent,
            icon: places.findLast(p => href.startsWith(p.path))?.icon ?? 'clock',
            label: task?.title ?? title,
            ...(task ? { hint: task.key } : {}),
            run: () => history.push(home + href),
          }
        }),
    [cache, history],
  )
}

/** Returns the inbox items that need the user. */
function useNeededItems() {
  const me = useMe().data
  const asked = useInfiniteQuery({ ...listQuery(filters), enabled: me !== undefined && me.role !== 'agent' }).data
  return useMemo(() => asked?.pages.flatMap(p => p.rows).filter(i => needs(i, me?.id)) ?? [], [asked, me])
}

/** Returns the entries that open inbox items. */
export function useInbox(): Entry[] {
  const navigate = useNavigate()
  const items = useNeededItems()
  return useMemo(
    () =>
      items.map(i => ({
        id: `item-${i.id}`,
        group: texts.app.places.inbox,
        icon: 'inbox',
        label: i.title,
        at: i.last_at,
        // Waits for the server's results, above which it must not be opened by mistake.
        found: { snippet: reasonOf(i) ?? '', marks: [] },
        run: () => void navigate({ to: '/inbox', search: { item: i.id } }),
      })),
    [items, navigate],
  )
}

/** Returns the commands on what needs the user, such as "Decide TASK-7…". */
function useNeeded(verbs: ItemActions): Entry[] {
  const me = useMe().data
  const approve = useApprove().mutate
  const whyNot = useWhyNotReview()
  const items = useNeededItems()
  return useMemo(() => {
    return items.flatMap((item): Entry[] => {
      const key = taskOf(item) ?? item.title
      const [act] = actsOf(item, { lead: leads(me) })
      const shared = { group: words.commands, found: { snippet: item.title, marks: [] } }
      if (act === 'decide')
        return [
          {
            ...shared,
            id: `decide-${item.id}`,
            icon: 'comment',
            label: words.decide(key),
            run: () => verbs.decide(item),
          },
        ]
      if (act !== 'approve' || whyNot(reviewOf(item)) !== null) return []
      const run = () => approve(reviewOf(item))
      return [
        { ...shared, id: `approve-${item.id}`, icon: 'check', label: words.approve(key), run },
        { ...shared, id: `back-${item.id}`, icon: 'left', label: words.sendBack(key), run: () => verbs.sendBack(item) },
      ]
    })
  }, [items, me, approve, whyNot, verbs])
}

/** Returns what one can do from anywhere. */
export function useCommands(verbs: ItemActions, onKeys: () => void): Entry[] {
  const navigate = useNavigate()
  const may = leads(useMe().data)
  const agents = useQuery(queries.agents).data
  const teams = useQuery({ ...teamsQuery, enabled: may }).data
  const needed = useNeeded(verbs)
  const lacks = useGatewayLacks()
  const hold = useHold(s => void navigate({ to: '/standups/$id', params: { id: s.id } })).mutate
  return useMemo(() => {
    const lead = (of: Omit<Entry, 'group'>[]) => (may ? of : [])
    const all: Omit<Entry, 'group'>[] = [
      {
        id: 'new',
        icon: 'plus',
        label: words.newTask,
        keys: 'c',
        run: () => void navigate({ to: '/tasks', search: { new: '1' } }),
      },
      ...needed,
      ...lead(
        (agents ?? [])
          .filter(a => a.in_runtime !== false)
          .map(a => ({
            id: `message-${a.agent_id}`,
            icon: 'comment' as const,
            label: words.message(a.name),
            run: () =>
              void navigate({
                to: '/sessions/$key',
                params: { key: `agent:${a.agent_id.toLowerCase()}:main` },
                search: { compose: '1' },
              }),
          })),
      ),
      ...(lacks.runs ? [] : (teams ?? [])).map(t => ({
        id: `standup-${t.key}`,
        icon: 'standups' as const,
        label: words.runStandup,
        ...((teams?.length ?? 0) > 1 ? { hint: t.name } : {}),
        run: () => hold({ team: t.key }),
      })),
      ...lead([
        {
          id: 'job',
          icon: 'schedules',
          label: words.newJob,
          run: () => void navigate({ to: '/schedules', search: { form: 'new' } }),
        },
        {
          id: 'user',
          icon: 'user',
          label: words.newUser,
          run: () => void navigate({ to: '/settings/users', search: { new: '1' } }),
        },
      ]),
      ...(['light', 'dark'] as const).map(theme => ({
        id: theme,
        icon: theme === 'light' ? ('sun' as const) : ('moon' as const),
        label: `${texts.app.theme}: ${texts.app.themes[theme]}`,
        run: () => setView({ theme }),
      })),
      { id: 'keys', icon: 'keyboard', label: words.keys, keys: '?', run: onKeys },
      { id: 'out', icon: 'out', label: texts.app.signOut, run: session.signOut },
    ]
    return all.map(c => ({ ...c, group: words.commands }))
  }, [may, agents, teams, needed, lacks.runs, hold, navigate, onKeys])
}
