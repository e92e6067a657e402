import { describe, expect, it } from 'vitest'
import type { Schemas } from '../api/client'
import { auditParams } from './queries'
import {
  agentRows,
  byRank,
  checklist,
  copyable,
  type Exam,
  effectOf,
  expiresAt,
  facts,
  gatewayChange,
  keyState,
  layers,
  makePassword,
  mayChange,
  needsPassword,
  teamChange,
  type User,
  userFits,
} from './rules'

const exam = (of: Partial<Exam>): Exam => ({
  configured: true,
  healthy: false,
  url: 'ws://gateway',
  at: '2026-11-20T08:00:00.000Z',
  took_ms: 3,
  failure: null,
  warnings: [],
  layers: [],
  ...of,
})

describe('the checklist', () => {
  it('stands in the order of the layers, whatever the answer’s', () => {
    const found = checklist(
      exam({
        layers: [...layers].reverse().map(layer => ({ layer, state: 'ok', saw: layer, took_ms: 1 })),
      }),
    )
    expect(found.map(c => c.layer)).toEqual(layers)
    expect(found.map(c => c.saw)).toEqual(layers)
  })
  it('waits before there was an examination, and where the answer says nothing', () => {
    expect(new Set(checklist(undefined).map(c => c.state))).toEqual(new Set(['waiting']))
    const some = checklist(exam({ layers: [{ layer: 'dns', state: 'ok', saw: '', took_ms: null }] }))
    expect(some.map(c => c.state).slice(0, 2)).toEqual(['ok', 'waiting'])
  })
  it('has the cause and the fix on the layer that fails, and on no other', () => {
    const found = checklist(exam({ failure: { layer: 'tcp', cause: 'Nothing listens.', fix: 'Start it.' } }))
    expect(found.filter(c => c.failure).map(c => [c.layer, c.failure?.fix])).toEqual([['tcp', 'Start it.']])
  })
})

// A truncated command, or one with a trailing period, would do something else.
describe('what can be copied', () => {
  it.each([
    [
      'Run on the gateway’s host: openclaw devices approve 2f105041-bcf7-4e68-9f8e-4bedb19ad04d. Wardroom notices the approval within seconds.',
      ['openclaw devices approve 2f105041-bcf7-4e68-9f8e-4bedb19ad04d'],
    ],
    [
      'Approve more scopes for the device on the gateway’s host (openclaw devices list, then openclaw devices approve). Or request fewer: AGENTRT_GATEWAY_SCOPES=operator.read,operator.write',
      ['openclaw devices list', 'openclaw devices approve', 'AGENTRT_GATEWAY_SCOPES=operator.read,operator.write'],
    ],
    ['Set AGENTRT_GATEWAY_URL=wss://gateway.example:18789.', ['AGENTRT_GATEWAY_URL=wss://gateway.example:18789']],
    ['Start the gateway.', []],
  ])('%s', (text, want) => expect(copyable(text)).toEqual(want))
})

describe('a key', () => {
  const now = Date.parse('2026-11-20T12:00:00Z')
  it.each([
    [null, null, 'works'],
    [null, '2026-11-20T12:00:01Z', 'works'],
    [null, '2026-11-20T12:00:00Z', 'expired'],
    ['2026-11-01T00:00:00Z', '2026-11-10T00:00:00Z', 'revoked'],
  ])('revoked %s, ends %s: %s', (revoked_at, expires_at, want) =>
    expect(keyState({ revoked_at, expires_at }, now)).toBe(want),
  )
  it('ends after its days, or never', () => {
    expect(expiresAt(30, now)).toBe('2026-12-20T12:00:00.000Z')
    expect(expiresAt(0, now)).toBeNull()
  })
})

const user = (of: Partial<User>): User =>
  ({ id: 'u', name: 'Ada', email: 'ada@example.com', role: 'user', active: true, agent_id: null, ...of }) as User

// Nothing must be offered that the server refuses.
describe('what one may change of an account', () => {
  it.each([
    ['owner', 'owner', true, { any: true, role: false, active: false }],
    ['owner', 'admin', false, { any: true, role: true, active: true }],
    ['admin', 'owner', false, { any: false, role: false, active: false }],
    ['admin', 'admin', true, { any: true, role: false, active: false }],
    ['admin', 'user', false, { any: true, role: true, active: true }],
    ['user', 'user', true, { any: false, role: false, active: false }],
  ] as const)('%s of %s, oneself: %s', (mine, theirs, self, want) =>
    expect(mayChange(user({ id: 'me', role: mine }), user({ id: self ? 'me' : 'other', role: theirs }))).toEqual(want),
  )
})

describe('the own password', () => {
  it.each([
    [null, { role: 'user' }, false],
    [null, { role: 'admin' }, true],
    ['user', { role: 'admin' }, true],
    ['user', { role: 'agent', email: 'new@example.com', password: 'x', active: false }, false],
    ['admin', { role: 'admin', email: 'other@example.com' }, true],
    ['admin', { email: 'ada@example.com', role: 'admin', active: true, password: '' }, false],
    ['admin', { name: 'Another' }, false],
    ['admin', { role: 'user' }, true],
    ['admin', { active: false }, true],
    ['owner', { email: 'new@example.com' }, true],
    ['admin', { password: 'x' }, true],
  ] as const)('is asked for: of %s, %o: %s', (role, change, want) =>
    expect(needsPassword(role && user({ role, email: 'ada@example.com', active: true }), change)).toBe(want),
  )
})

describe('the users', () => {
  it('are found by name, email and agent, by role and by whether they are active', () => {
    const coo = user({ name: 'COO', email: 'coo@example.com', role: 'agent', agent_id: 'boss', active: false })
    expect(userFits(coo, { q: ' BOSS ' })).toBe(true)
    expect(userFits(coo, { q: 'ada' })).toBe(false)
    expect(userFits(coo, { role: 'user' })).toBe(false)
    expect(userFits(coo, { show: 'active' })).toBe(false)
    expect(userFits(coo, { show: 'inactive', role: 'agent' })).toBe(true)
  })
  it('stand by rank, those who left last', () => {
    const all = [
      user({ name: 'B', role: 'agent' }),
      user({ name: 'C', role: 'owner' }),
      user({ name: 'A', role: 'owner', active: false }),
      user({ name: 'A', role: 'agent' }),
    ]
    expect(all.sort(byRank).map(u => u.name + u.active)).toEqual(['Ctrue', 'Atrue', 'Btrue', 'Afalse'])
  })
})

// Every agent must be listed, so that it can get an account and a key.
describe('the agents', () => {
  it('are those of the runtime and those with an account, the active account first', () => {
    const agent = { agent_id: 'cto', name: 'CTO', in_runtime: true } as Parameters<typeof agentRows>[0][number]
    const rows = agentRows(
      [agent],
      [
        user({ id: 'old', role: 'agent', agent_id: 'cto', active: false }),
        user({ id: 'new', role: 'agent', agent_id: 'cto' }),
        user({ id: 'older', role: 'agent', agent_id: 'cto', active: false }),
        user({ id: 'gone', name: 'CFO', role: 'agent', agent_id: 'cfo' }),
        user({ id: 'human' }),
      ],
    )
    expect(rows.map(r => [r.agentId, r.inRuntime, r.account?.id])).toEqual([
      ['cfo', null, 'gone'],
      ['cto', true, 'new'],
    ])
  })
})

describe('the facts of an event', () => {
  it('have what was before where it is told', () => {
    expect(
      facts({
        name: { before: 'A', after: '<b>' },
        agent_id: { before: null, after: 'cto' },
        changes: { PORT: { before: '3000', after: '3001' } },
        count: 3,
        settings: { HOST: '::' },
      }),
    ).toEqual([
      { field: 'name', before: 'A', after: '<b>' },
      { field: 'agent_id', before: '', after: 'cto' },
      { field: 'PORT', before: '3000', after: '3001' },
      { field: 'count', after: '3' },
      { field: 'settings.HOST', after: '::' },
    ])
  })
  it('are none where there are none', () => expect(facts(null)).toEqual([]))
})

describe('a password that is made up', () => {
  it('is long, without letters that look alike, and does not favour some', () => {
    expect(makePassword()).toMatch(/^[a-zA-Z2-9]{24}$/)
    // There are 57 letters, so bytes from 228 on would favor the first ones.
    expect(makePassword(() => Uint8Array.from([255, 228, 0, 56]))).toBe('a9'.repeat(12))
  })
})

// Both days of the filter must be included in full.
describe('the days of the audit', () => {
  it('both belong to it', () => {
    const asked = auditParams({ since: '2026-11-20', until: '2026-11-20' })
    expect(Date.parse(asked.until ?? '') - Date.parse(asked.since ?? '')).toBe(86_400_000)
  })
  it('that are none are left out', () => expect(auditParams({ since: 'x', until: '2026-99-99' })).toEqual({}))
})

describe('the change of a team', () => {
  const team: Schemas['StandupTeam'] = {
    id: '1',
    key: 'design',
    name: 'Design',
    facilitator: 'coo',
    participants: ['cto', 'cpo'],
    timezone: 'Asia/Tokyo',
    agent_timeout: '90s',
    deadline: '20m',
    from_settings: ['deadline'],
    archived_at: null,
    created_at: '2026-11-20T08:00:00.000Z',
    updated_at: '2026-11-20T08:00:00.000Z',
    version: 3,
  }
  const same = { name: team.name, facilitator: team.facilitator, participants: team.participants }

  it('names what is other, and nothing else', () => {
    const whole = { ...same, timezone: 'Asia/Tokyo', agent_timeout: '90s', deadline: '20m' }
    expect(teamChange(team, whole)).toEqual({})
    expect(teamChange(team, { ...whole, name: 'Designers', deadline: '30m' })).toEqual({
      name: 'Designers',
      deadline: '30m',
    })
  })

  it('has what was emptied follow the settings', () => {
    expect(teamChange(team, same)).toEqual({ timezone: null, agent_timeout: null })
  })
})

// A stored token must not go along to another address, nor be deleted by a change of nothing.
describe('the change of the gateway settings', () => {
  const is = (url: string, editable = true, token = true) => ({
    url: { value: url, source: 'stored' as const, editable, detail: '' },
    token: { set: true, source: 'stored' as const, editable: token, detail: '' },
  })
  it('has what was edited', () => {
    expect(gatewayChange(is('ws://a'), ' ws://a ', '')).toEqual({})
    expect(gatewayChange(is('ws://a'), 'ws://a', 't ')).toEqual({ token: 't' })
    expect(gatewayChange(is('ws://a'), 'ws://b', 't')).toEqual({ url: 'ws://b', token: 't' })
  })
  it('has no token for another address unless one is entered', () => {
    expect(gatewayChange(is('ws://a'), 'ws://b', '')).toEqual({ url: 'ws://b', token: null })
  })
  it('leaves out what the environment sets', () => {
    expect(gatewayChange(is('ws://a', false), 'ws://b', 't')).toEqual({ token: 't' })
    expect(gatewayChange(is('', true, false), 'ws://b', '')).toEqual({ url: 'ws://b' })
  })
})

// A person must know before saving how much is deleted earlier.
describe('the effect of other retention days', () => {
  const now = [{ preview: { count: 200, before: '', oldest_at: null } }, { preview: null }]
  it.each([
    ['more goes', [{ count: 1204 }, { count: 10 }], { is: 'earlier', count: 1014 }],
    ['less goes', [{ count: 0 }, { count: 0 }], { is: 'later', count: 200 }],
    ['the same goes', [{ count: 200 }, { count: 0 }], { is: 'same', count: 0 }],
  ] as const)('is said if %s', (_, due, want) => {
    expect(effectOf(now, due)).toEqual(want)
  })
  it('is unknown while nobody has counted', () => {
    expect(effectOf(now, undefined)).toBeUndefined()
  })
})
