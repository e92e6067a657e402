import { describe, expect, it } from 'vitest'
import { beside, cronAt, doneSteps, firstOpen, type Known, withoutAccount } from './steps'

type Agents = NonNullable<Known['agents']>
const agent = (agent_id: string, in_runtime: boolean | null, account: boolean): Agents[number] =>
  ({
    agent_id,
    name: agent_id,
    in_runtime,
    account: account ? { user_id: agent_id, name: agent_id } : null,
  }) as Agents[number]
const none: Known = { gateway: undefined, exam: undefined, agents: undefined, jobs: undefined }
const gateway = (connected_at: string | null) =>
  ({ state: connected_at ? 'connected' : 'unreachable', connected_at }) as Known['gateway']

// A step that looks done and is not leaves somebody with a team that never reports.
describe('a step', () => {
  it('is not done while nothing is known', () => expect([...doneSteps(none)]).toEqual([]))
  it('is done by what is so', () => {
    const all = doneSteps({
      gateway: gateway('2026-11-20T08:00:00Z'),
      exam: { configured: true, healthy: true } as Known['exam'],
      agents: [agent('coo', true, true), agent('old', false, false)],
      jobs: [{ name: 'daily-standup' }],
    })
    expect([...all]).toEqual(['connect', 'doctor', 'found', 'accounts', 'standup'])
    expect(firstOpen(all)).toBe('end')
  })
  it('of the doctor is done without one where all works, and not where it found something', () => {
    const known = { ...none, gateway: gateway('2026-11-20T08:00:00Z') }
    expect(doneSteps(known).has('doctor')).toBe(true)
    expect(doneSteps({ ...known, exam: { configured: true, healthy: false } as Known['exam'] }).has('doctor')).toBe(
      false,
    )
  })
  it('is open again when the gateway is away', () => {
    const done = doneSteps({ ...none, gateway: gateway(null), agents: [agent('coo', null, true)] })
    expect([...done]).toEqual([])
    expect(firstOpen(done)).toBe('connect')
  })
  it('is open while one agent lacks an account', () => {
    const agents = [agent('coo', true, true), agent('cto', true, false), agent('cfo', false, false)]
    expect(withoutAccount(agents).map(a => a.agent_id)).toEqual(['cto'])
    expect(doneSteps({ ...none, agents }).has('accounts')).toBe(false)
  })
  it('has neighbours, and the ends have none beyond', () => {
    expect(beside('connect', -1)).toBeUndefined()
    expect(beside('connect', 1)).toBe('doctor')
    expect(beside('end', 1)).toBeUndefined()
  })
})

describe('the time of a job', () => {
  it.each([
    ['09:00', '1-5', '0 9 * * 1-5'],
    ['23:59', '*', '59 23 * * *'],
    ['24:00', '*', null],
    ['', '*', null],
  ])('%s on %s is %s', (time, days, want) => expect(cronAt(time, days)).toBe(want))
})
