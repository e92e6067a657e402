import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { api, ifMatch, take } from '../api/client'
import { Problem } from '../api/problem'
import * as clock from '../app/clock'
import { moment } from '../app/format'
import { useMe } from '../app/queries'
import { session } from '../app/session'
import { dropDraft } from '../tasks/drafts'
import { inTurn } from '../tasks/pendingChanges'
import { inbox as inboxWords } from '../texts/inbox'
import { say, sayFailed } from '../ui/toast'
import { noteOwn } from '../ui/useHeldRows'
import { type Action, type Item, looks, type Told, wayBack } from './item'
import { putItem } from './queries'

const words = inboxWords

/** Applies an action to an item. With a version, the server refuses it if the item changed. */
function send(id: string, action: Action, version?: number): Promise<Item> {
  const params = { path: { id }, ...(version ? { header: ifMatch(version) } : {}) }
  switch (action.do) {
    case 'ack':
      return take(api.POST('/api/v1/inbox/{id}/ack', { params }))
    case 'reopen':
      return take(api.POST('/api/v1/inbox/{id}/reopen', { params }))
    case 'snooze':
      return take(api.POST('/api/v1/inbox/{id}/snooze', { params, body: { until: action.until } }))
    case 'assign':
      return take(api.POST('/api/v1/inbox/{id}/assign', { params, body: { assignee: action.to?.id ?? null } }))
    case 'resolve':
      return take(api.POST('/api/v1/inbox/{id}/resolve', { params, body: action.note ? { note: action.note } : {} }))
  }
}

function said(action: Action): string {
  if (action.do === 'snooze') return words.done.snooze(moment(action.until))
  if (action.do === 'assign') return action.to ? words.done.assign(action.to.name) : words.done.unassign
  return words.done[action.do]
}

async function readAgain(cache: QueryClient, was: Told): Promise<void> {
  try {
    putItem(cache, await take(api.GET('/api/v1/inbox/{id}', { params: { path: { id: was.id } } })))
  } catch {
    // The item keeps its last state.
  }
}

async function undo(cache: QueryClient, was: Told, action: Action): Promise<void> {
  // The user wants to see the restored item, even while new rows are held back.
  noteOwn(was.id)
  try {
    for (const step of wayBack(was, action, new Date(clock.now()))) putItem(cache, await send(was.id, step))
  } catch (err) {
    sayFailed(err)
    void readAgain(cache, was)
  }
}

/** The versions that this user's own actions led to, by item and the version before. */
const led = new Map<string, number>()
session.onLeave(() => led.clear())

/** Returns the item's version after this user's own actions on the version that the user saw. */
function versionOf({ id, version }: Pick<Told, 'id' | 'version'>): number {
  const next = led.get(`${id} ${version}`)
  return next === undefined ? version : versionOf({ id, version: next })
}

/** Returns a function that applies an action optimistically, and reverts it if the server refuses it. */
export function useItemAction(): (item: Told, action: Action) => void {
  const cache = useQueryClient()
  const me = useMe().data
  const { mutate } = useMutation({
    mutationFn: ({ item, action }: { item: Told; action: Action }) =>
      inTurn(item.id, async () => {
        // Only resolving needs the version: it must not hide something the user hasn't seen.
        const now = await send(item.id, action, action.do === 'resolve' ? versionOf(item) : undefined)
        if (now.version === item.version + 1) led.set(`${item.id} ${item.version}`, now.version)
        return now
      }),
    onMutate: ({ item, action }) => {
      noteOwn(item.id)
      putItem(cache, looks(item, action, me ?? { id: '', name: '' }, new Date(clock.now())))
    },
    onSuccess: (now, { item, action }) => {
      if (action.do === 'resolve') dropDraft('resolution', item.id)
      putItem(cache, now)
      say(said(action), () => void undo(cache, item, action))
    },
    onError: (err, { item }) => {
      sayFailed(err, words.couldNot)
      putItem(cache, item)
      if (!(err instanceof Problem) || err.status !== 0) void readAgain(cache, item)
    },
  })
  return useCallback((item, action) => mutate({ item, action }), [mutate])
}
