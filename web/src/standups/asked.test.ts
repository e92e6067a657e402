import { describe, expect, it } from 'vitest'
import { askedOf } from './asked'

const usual = ['cto', 'cpo', 'cmo']
const agents = (...ids: string[]) => ids.map(agent_id => ({ agent_id }))

// A name of the settings that is shown as an agent is a colleague who does not exist.
describe('whom a standup asks', () => {
  it('is nobody that can be named while nobody is known', () => {
    expect(askedOf(usual, undefined, false)).toEqual({ known: [], nobody: [], told: false })
    expect(askedOf(usual, [], false)).toEqual({ known: [], nobody: [], told: false })
  })
  it('is those with an account, also while the runtime is away, and says nothing of the others', () =>
    expect(askedOf(usual, agents('coo', 'cmo'), false)).toEqual({ known: ['cmo'], nobody: [], told: false }))
  it('is told apart from names that nobody has once the runtime is there, in the order of the team', () =>
    expect(askedOf(usual, agents('cmo', 'coo', 'cto'), true)).toEqual({
      known: ['cto', 'cmo'],
      nobody: ['cpo'],
      told: true,
    }))
  it('is not made up while the agents are being read', () =>
    expect(askedOf(usual, undefined, true)).toEqual({ known: [], nobody: [], told: false }))
})
