import { describe, expect, it } from 'vitest'
import {
  beside,
  doneSteps,
  firstOpen,
  type Known,
  lacksGateway,
  standing,
  stepsLeft,
  tasks,
  withoutAccount,
} from './steps'

type Agents = NonNullable<Known['agents']>
const agent = (agent_id: string, in_runtime: boolean | null, account: boolean): Agents[number] =>
  ({
    agent_id,
    name: agent_id,
    in_runtime,
    account: account ? { user_id: agent_id, name: agent_id } : null,
  }) as Agents[number]
const none: Known = { gateway: undefined, exam: undefined, agents: undefined, jobs: undefined }
const gateway = (connected_at: string | null, of: object = {}) =>
  ({
    state: connected_at ? 'connected' : 'unreachable',
    connected_at,
    last_seen_at: connected_at,
    ...of,
  }) as Known['gateway']
const noGateway = gateway(null, { state: 'not_configured' })
const here = gateway('2026-11-20T08:00:00Z')

// A step must not count as done before it is.
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
    expect(standing('accounts', { ...none, gateway: here, agents })).toEqual({
      is: 'open',
      why: '1 of 2 agents has no account',
    })
  })
  it('has neighbours, and the ends have none beyond', () => {
    const known = { ...none, gateway: here }
    expect(beside('connect', -1, known)).toBeUndefined()
    expect(beside('connect', 1, known)).toBe('doctor')
    expect(beside('end', 1, known)).toBeUndefined()
  })
  it('that can’t be done is passed over', () => {
    expect(beside('connect', 1, { ...none, gateway: noGateway })).toBe('end')
    expect(beside('end', -1, { ...none, gateway: noGateway })).toBe('connect')
    // The checks help to connect a gateway that can’t be reached.
    expect(beside('connect', 1, { ...none, gateway: gateway(null) })).toBe('doctor')
    expect(beside('doctor', 1, { ...none, gateway: gateway(null) })).toBe('end')
  })
})

const all = (known: Known) => Object.fromEntries(tasks.map(s => [s, standing(s, known).is]))

// "Every agent has an account" is wrong when there are no agents.
describe('how a step stands', () => {
  it('waits for a gateway, also where an agent has an account already', () => {
    const known = { ...none, gateway: noGateway, agents: [agent('coo', null, true)] }
    const [connect, ...others] = tasks
    expect(connect && standing(connect, known)).toEqual({ is: 'open', why: 'No gateway configured' })
    for (const s of others) {
      expect(standing(s, known), s).toEqual({ is: 'waits', why: 'Needs the gateway' })
      expect(lacksGateway(s, known), s).toBe(true)
    }
    expect(all({ ...known, gateway: gateway(null) })).toMatchObject({
      doctor: 'open',
      found: 'waits',
      standup: 'waits',
    })
  })
  it('is unknown where only the runtime could say it and that is away', () => {
    const known = {
      ...none,
      gateway: gateway(null, { last_seen_at: '2026-11-20T08:00:00Z' }),
      agents: [agent('coo', null, true)],
      jobs: [{ name: 'daily-standup' }],
    }
    expect(all(known)).toEqual({
      connect: 'open',
      doctor: 'open',
      found: 'unknown',
      accounts: 'unknown',
      standup: 'unknown',
    })
    expect(standing('connect', known).why).toContain('unreachable')
  })
  it('is unknown, with the reason, where something could not be read', () => {
    const known = { ...none, gateway: here, failed: { agents: 'No.', jobs: 'Not you.' } }
    expect(standing('accounts', known)).toEqual({ is: 'unknown', why: 'No.' })
    expect(standing('standup', known)).toEqual({ is: 'unknown', why: 'Not you.' })
    expect(standing('connect', { ...none, failed: { gateway: 'Nobody.' } })).toEqual({ is: 'unknown', why: 'Nobody.' })
  })
  it('is to do where the runtime is there and has nobody', () => {
    const known = { ...none, gateway: here, agents: [], jobs: [] }
    expect(all(known)).toMatchObject({ connect: 'done', found: 'open', accounts: 'open', standup: 'open' })
  })
  it('does not hold on to an examination of another time', () => {
    const exam = { configured: true, healthy: true, at: '2026-11-20T08:00:00Z' } as Known['exam']
    const lost = gateway(null, { since: '2026-11-20T09:00:00Z' })
    expect(standing('doctor', { ...none, gateway: lost, exam }).is).toBe('open')
  })
})

// The reminder must not show when everything is done or the gateway is merely offline.
describe('the way back to the first steps', () => {
  it('is offered while something is to do, from the first of it', () => {
    expect(stepsLeft({ ...none, gateway: noGateway, agents: [] })).toEqual(tasks)
    expect(stepsLeft({ ...none, gateway: gateway(null), agents: [] })[0]).toBe('connect')
    expect(stepsLeft({ ...none, gateway: here, agents: [agent('coo', true, false)], jobs: [] })).toEqual([
      'accounts',
      'standup',
    ])
  })
  it('is not offered where all is done, nor while nothing is known', () => {
    const jobs = [{ name: 'daily-standup' }]
    expect(stepsLeft({ ...none, gateway: here, agents: [agent('coo', true, true)], jobs })).toEqual([])
    expect(stepsLeft(none)).toEqual([])
  })
  it('is not offered because a gateway that was there is away', () => {
    expect(
      stepsLeft({ ...none, gateway: gateway(null, { last_seen_at: '2026-11-20T08:00:00Z' }), agents: [] }),
    ).toEqual([])
  })
})
