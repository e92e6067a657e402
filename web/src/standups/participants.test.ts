import { describe, expect, it } from 'vitest'
import { participantsOf } from './participants'

const usual = ['cto', 'cpo', 'cmo']
const agents = (...ids: string[]) => ids.map(agent_id => ({ agent_id, account: { user_id: agent_id, name: agent_id } }))
const none = { known: [], without: [], nobody: [], told: false }

// IDs from the settings must not show as existing agents.
describe('whom a standup asks', () => {
  it('is nobody that can be named while nobody is known', () => {
    expect(participantsOf(usual, undefined, false)).toEqual(none)
    expect(participantsOf(usual, [], false)).toEqual(none)
  })
  it('is those with an account, also while the runtime is away, and says nothing of the others', () =>
    expect(participantsOf(usual, agents('coo', 'cmo'), false)).toEqual({ ...none, known: ['cmo'] }))
  it('is told apart from names that nobody has once the runtime is there, in the order of the team', () =>
    expect(participantsOf(usual, agents('cmo', 'coo', 'cto'), true)).toEqual({
      ...none,
      known: ['cto', 'cmo'],
      nobody: ['cpo'],
      told: true,
    }))
  it('is nobody of the runtime who has no account', () =>
    expect(participantsOf(usual, [...agents('cto'), { agent_id: 'cpo', account: null }], true)).toEqual({
      known: ['cto'],
      without: ['cpo'],
      nobody: ['cmo'],
      told: true,
    }))
  it('is not made up while the agents are being read', () =>
    expect(participantsOf(usual, undefined, true)).toEqual(none))
})
