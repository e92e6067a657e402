import { QueryClient } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { dispatch } from '../app/live/patches'
import { agentPatches } from './patches'

const session = (more: object = {}) => ({
  key: 'agent:cto:main',
  agent_id: 'cto',
  kind: 'main',
  label: null,
  active: true,
  active_run_id: 'r1',
  stalled: false,
  status: 'running',
  cost_usd: '0.5',
  last_message: 'on it',
  updated_at: '2026-11-20T08:00:00.000Z',
  ...more,
})

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

// A busy session sends four events per second; the agent list must not be refetched as often.
describe('what sessions tell of agents', () => {
  it('reads presence anew when a run begins or ends, and else only puts the row in place', () => {
    const cache = new QueryClient()
    cache.setQueryData(['agents', 'one', 'cto'], { sessions: [session({ last_message: 'before' })] })
    cache.setQueryData(
      ['agents', 'summaries'],
      [{ summary: { session: session({ title: 'Search' }) } }, { summary: null }],
    )
    const asked = vi.spyOn(cache, 'invalidateQueries')
    const tell = (s: object) => dispatch(agentPatches, { kind: 'session.changed', data: s }, cache)
    const reads = () => {
      vi.advanceTimersByTime(3000)
      const n = asked.mock.calls.filter(c => JSON.stringify(c[0]?.queryKey) === '["agents","summaries"]').length
      asked.mockClear()
      return n
    }
    dispatch(agentPatches, { kind: 'agentrt.status', data: {} }, cache)
    reads()
    tell(session())
    expect(reads()).toBe(1)
    tell(session({ last_message: 'half way' }))
    tell(session({ last_message: 'nearly' }))
    expect(reads()).toBe(0)
    const page = cache.getQueryData<{ sessions: { last_message: string }[] }>(['agents', 'one', 'cto'])
    expect(page?.sessions[0]?.last_message).toBe('nearly')
    const [first] = cache.getQueryData<{ summary: { session: object } }[]>(['agents', 'summaries']) ?? []
    expect(first?.summary.session).toMatchObject({ last_message: 'nearly', title: 'Search' })
    tell(session({ stalled: true }))
    expect(reads()).toBe(1)
    tell(session({ active: false, active_run_id: null }))
    expect(reads()).toBe(1)
  })
  it('takes no notice of what is no session', () => {
    const cache = new QueryClient()
    for (const data of [null, 1, 'x', {}, { key: 1 }]) dispatch(agentPatches, { kind: 'session.gone', data }, cache)
    dispatch(agentPatches, { kind: 'session.changed', data: { key: 'a' } }, cache)
  })
})
