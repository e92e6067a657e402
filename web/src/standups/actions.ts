import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, ifMatch, take } from '../api/client'
import { Problem } from '../api/problem'
import { standups } from '../texts/standups'
import { say, sayFailed } from '../ui/toast'
import { dropStandup, putStandup, transcriptOf } from './queries'
import type { Standup } from './standup'

const words = standups

/** Moves the focus to the header, because the pressed button disappears with the new status. */
function goOnFromHead(): void {
  setTimeout(() => {
    if (document.activeElement !== document.body) return
    document.querySelector<HTMLElement>('[data-head] h2')?.focus({ preventScroll: true })
  }, 50)
}

interface Holding {
  /** The standup to run; by default today's. */
  id?: string
  team: string
  /** Set to repeat a completed standup. */
  again?: boolean
}

const open = (team: string): Promise<Standup> => take(api.POST('/api/v1/standups', { body: { team } }))

async function hold({ id, team, again }: Holding): Promise<Standup> {
  const path = { id: id ?? (await open(team)).id }
  try {
    return await take(
      api.POST('/api/v1/standups/{id}/run', { params: { path }, ...(again ? { body: { again: true } } : {}) }),
    )
  } catch (err) {
    // Someone else was faster, with the same result.
    if (!(err instanceof Problem) || !['already_running', 'already_completed'].includes(err.code)) throw err
    return take(api.GET('/api/v1/standups/{id}', { params: { path } }))
  }
}

/** Runs a standup. Today's is opened first; a failed one asks only for missing answers. */
export function useHold(then?: (s: Standup) => void) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: hold,
    onSuccess: s => {
      putStandup(cache, s)
      if (s.status === 'running') say(words.started)
      then?.(s)
      goOnFromHead()
    },
    onError: err => sayFailed(err, words.couldNotRun),
  })
}

/** Opens today's standup without asking anyone, so that reports can be submitted first. */
export function useOpen(then?: (s: Standup) => void) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: open,
    onSuccess: s => {
      putStandup(cache, s)
      say(words.opened)
      then?.(s)
      goOnFromHead()
    },
    onError: err => sayFailed(err, words.couldNotRun),
  })
}

export function useCancel() {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (s: Standup) => take(api.POST('/api/v1/standups/{id}/cancel', { params: { path: { id: s.id } } })),
    onSuccess: s => {
      putStandup(cache, s)
      say(words.cancelled)
      goOnFromHead()
    },
    onError: err => sayFailed(err, words.couldNotCancel),
  })
}

export function useRemove(then: () => void) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async (s: Standup) => {
      await api.DELETE('/api/v1/standups/{id}', { params: { path: { id: s.id }, header: ifMatch(s.version) } })
      return s.id
    },
    onSuccess: id => {
      then()
      dropStandup(cache, id)
      say(words.removed)
    },
    onError: err => sayFailed(err, words.couldNotRemove),
  })
}

export async function copyTranscript(id: string): Promise<void> {
  try {
    // Undefined on insecure origins such as http://10.0.0.5:3000, contrary to its type.
    const clipboard = navigator.clipboard as Clipboard | undefined
    if (!clipboard) throw new Problem({ code: 'no_clipboard', title: words.noClipboard })
    await clipboard.writeText(await transcriptOf(id))
    say(words.copied)
  } catch (err) {
    sayFailed(err, words.couldNotCopy)
  }
}
