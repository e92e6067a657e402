import { useCallback, useMemo } from 'react'
import type { Go, SessionsSearch } from './search'

/** The jobs whose runs are shown, as in the URL, and a function that changes them. */
export function useOpenJobs({ jobs }: SessionsSearch, go: Go) {
  const open = useMemo(() => new Set((jobs ?? '').split(',').filter(Boolean)), [jobs])
  const onJob = useCallback(
    (id: string, show: boolean) => {
      const next = new Set(open)
      if (show) next.add(id)
      else next.delete(id)
      go({ jobs: [...next].join(',') || undefined }, true)
    },
    [open, go],
  )
  return { open, onJob }
}
