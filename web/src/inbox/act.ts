import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { api, ifMatch, take } from '../api/client'
import { Problem } from '../api/problem'
import * as clock from '../app/clock'
import { moment } from '../app/format'
import { useMe } from '../app/queries'
import { session } from '../app/session'
import { inbox as inboxWords } from '../texts/inbox'
import { say, sayFailed } from '../ui/Toast'
import { noteOwn } from '../ui/useHeld'
import { type Deed, type Item, looks, type Told, wayBack } from './item'
import { putItem } from './queries'

const words = inboxWords

/** Applies an action to an item. With a version, the server refuses it if the item changed. */
function send(id: string, deed: Deed, version?: number): Promise<Item> {
  const params = { path: { id }, ...(version ? { header: ifMatch(version) } : {}) }
  switch (deed.do) {
    case 'ack':
      return take(api.POST('/api/v1/inbox/{id}/ack', { params }))
    case 'reopen':
      return take(api.POST('/api/v1/inbox/{id}/reopen', { params }))
    case 'snooze':
      return take(api.POST('/api/v1/inbox/{id}/snooze', { params, body: { until: deed.until } }))
    case 'assign':
      return take(api.POST('/api/v1/inbox/{id}/assign', { params, body: { assignee: deed.to?.id ?? null } }))
    case 'resolve':
      return take(api.POST('/api/v1/inbox/{id}/resolve', { params, body: deed.note ? { note: deed.note } : {} }))
  }
}

function said(deed: Deed): string {
  if (deed.do === 'snooze') return words.done.snooze(moment(deed.until))
  if (deed.do === 'assign') return deed.to ? words.done.assign(deed.to.name) : words.done.unassign
  return words.done[deed.do]
}

async function readAgain(cache: QueryClient, was: Told): Promise<void> {
  try {
    putItem(cache, await take(api.GET('/api/v1/inbox/{id}', { params: { path: { id: was.id } } })))
  } catch {
    // The item keeps its last state.
  }
}

async function undo(cache: QueryClient, was: Told, deed: Deed): Promise<void> {
  // The user wants to see the restored item, even while new rows are held back.
  noteOwn(was.id)
  try {
    for (const step of wayBack(was, deed, new Date(clock.now()))) putItem(cache, await send(was.id, step))
  } catch (err) {
    sayFailed(err)
    void readAgain(cache, was)
  }
}

/** Notes of failed resolutions by item ID, offered again on the next attempt. */
const unsaid = new Map<string, string>()
session.onLeave(() => unsaid.clear())
export const unsaidOf = (id: string): string => unsaid.get(id) ?? ''

/** Returns a function that applies an action optimistically, and reverts it if the server refuses it. */
export function useAct(): (item: Told, deed: Deed) => void {
  const cache = useQueryClient()
  const me = useMe().data
  const { mutate } = useMutation({
    // Only resolving needs the version: it must not hide something the user hasn't seen.
    mutationFn: ({ item, deed }: { item: Told; deed: Deed }) =>
      send(item.id, deed, deed.do === 'resolve' ? item.version : undefined),
    onMutate: ({ item, deed }) => {
      noteOwn(item.id)
      putItem(cache, looks(item, deed, me ?? { id: '', name: '' }, new Date(clock.now())))
    },
    onSuccess: (now, { item, deed }) => {
      unsaid.delete(item.id)
      putItem(cache, now)
      say(said(deed), () => void undo(cache, item, deed))
    },
    onError: (err, { item, deed }) => {
      if (deed.do === 'resolve' && deed.note) unsaid.set(item.id, deed.note)
      sayFailed(err, words.couldNot)
      putItem(cache, item)
      if (!(err instanceof Problem) || err.status !== 0) void readAgain(cache, item)
    },
  })
  return useCallback((item, deed) => mutate({ item, deed }), [mutate])
}
