import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { api, take } from '../api/client'
import { rereadSoon } from '../app/live/patches'
import { texts } from '../texts'
import { sessions as sessionsWords } from '../texts/sessions'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { say, sayFailed } from '../ui/toast'
import { canonical, type Live, liveKey, oneKey } from './liveSessions'
import { stopped as asStopped, type Session } from './session'
import { useSessionNames } from './useSessionNames'

const words = sessionsWords

type Ending = Pick<Session, 'key' | 'label' | 'agent_id'>

/** Shows a session as stopped at once. The runtime's next event replaces the row. */
function markStopped(cache: QueryClient, key: string): void {
  cache.setQueryData<Session>(oneKey(key), was => was && asStopped(was))
  cache.setQueryData<Live>(
    liveKey,
    was => was && { ...was, rows: was.rows.map(r => (canonical(r.key) === canonical(key) ? asStopped(r) : r)) },
  )
}

/**
 * Stops everything in a session after a confirmation, rather than a single run: by the time the user confirms, that run
 * may have ended and the next one started.
 */
export function useStop(): [ask: (s: Ending) => void, question: ReactNode] {
  const [of, setOf] = useState<Ending | null>(null)
  const [open, setOpen] = useState(false)
  const [busy, setBusy] = useState(false)
  const cache = useQueryClient()
  const nameOf = useSessionNames(useMemo(() => (of ? [of.key] : []), [of]))
  const ask = useCallback((s: Ending) => {
    setOf(s)
    setOpen(true)
  }, [])
  const stop = async () => {
    if (!of) return
    setBusy(true)
    try {
      const { stopped, run_ids } = await take(
        api.POST('/api/v1/agentrt/sessions/{key}/stop', {
          params: { path: { key: canonical(of.key) } },
          body: {},
        }),
      )
      if (stopped) markStopped(cache, of.key)
      say(stopped ? words.stopped(run_ids.length) : words.nothingToStop)
    } catch (err) {
      sayFailed(err, words.notStopped)
      rereadSoon(cache, oneKey(of.key))
    } finally {
      setBusy(false)
      setOpen(false)
    }
  }
  const question = of && (
    <Dialog onClose={() => setOpen(false)} open={open} title={words.stopTitle}>
      <p className="wrap-anywhere font-medium">
        <bdi>{nameOf(of.key).name}</bdi>
      </p>
      <p className="mt-1 text-soft">{words.stopText}</p>
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={() => setOpen(false)}>{texts.ui.cancel}</Button>
        <Button busy={busy} icon="stop" look="danger" onClick={() => void stop()}>
          {words.stop}
        </Button>
      </div>
    </Dialog>
  )
  return [ask, question]
}
