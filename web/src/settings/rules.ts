import type { Schemas } from '../api/client'

export type User = Schemas['AccountUser']
export type Key = Schemas['AccountKey']
export type Role = User['role']
export type Exam = Schemas['GatewayExamination']
export type Layer = Exam['layers'][number]['layer']

/** What has to work until the gateway can be used, each on top of the one before. */
export const layers: readonly Layer[] = [
  'dns',
  'tcp',
  'tls',
  'http',
  'upgrade',
  'challenge',
  'auth',
  'pairing',
  'scopes',
  'protocol',
  'methods',
  'events',
]

export interface Check {
  layer: Layer
  state: 'ok' | 'failed' | 'not_reached' | 'skipped' | 'waiting'
  saw: string
  tookMs: number | null
  /** The cause and the fix, on the first layer that fails and on no other. */
  failure: { cause: string; fix: string } | null
}

/** The doctor's findings as a checklist from the bottom; before there are any, every layer waits. */
export function checklist(exam: Exam | undefined): Check[] {
  return layers.map(layer => {
    const step = exam?.layers.find(l => l.layer === layer)
    return {
      layer,
      state: step?.state ?? 'waiting',
      saw: step?.saw ?? '',
      tookMs: step?.took_ms ?? null,
      failure: exam?.failure?.layer === layer ? { cause: exam.failure.cause, fix: exam.failure.fix } : null,
    }
  })
}

const command = /openclaw devices \w+(?: --?[\w-]+| [0-9a-fA-F-]{8,})*/g
const setting = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+=[^\s,;]+(?:,[^\s,;]+)*/g

/** What of a sentence can be copied and run or set: commands of the gateway, and settings with their values. */
export function copyable(text: string): string[] {
  const found = [...text.matchAll(command), ...text.matchAll(setting)]
  return [...new Set(found.sort((a, b) => a.index - b.index).map(m => m[0].replace(/[.:]+$/, '')))]
}

/** Whether a key does anything at this moment, and if not, why. */
export function keyState(key: Pick<Key, 'revoked_at' | 'expires_at'>, now: number): 'works' | 'expired' | 'revoked' {
  if (key.revoked_at !== null) return 'revoked'
  return key.expires_at !== null && Date.parse(key.expires_at) <= now ? 'expired' : 'works'
}

export interface UserFilters {
  q?: string | undefined
  role?: string | undefined
  show?: string | undefined
}

/** Whether an account fits the filters of the address. */
export function userFits(user: User, f: UserFilters): boolean {
  const text = f.q?.trim().toLowerCase()
  return (
    (!f.role || user.role === f.role) &&
    (!f.show || f.show === 'all' || user.active === (f.show === 'active')) &&
    (!text || `${user.name}\n${user.email}\n${user.agent_id ?? ''}`.toLowerCase().includes(text))
  )
}

const rank: Record<Role, number> = { owner: 0, admin: 1, user: 2, agent: 3 }

/** The owner first, then by role and name; who is deactivated comes last. */
export const byRank = (a: User, b: User): number =>
  Number(b.active) - Number(a.active) || rank[a.role] - rank[b.role] || a.name.localeCompare(b.name)

/** What one may change of an account, so that nothing is offered that the service would refuse. */
export function mayChange(me: User, user: User): { any: boolean; role: boolean; active: boolean } {
  const leads = me.role === 'owner' || me.role === 'admin'
  const any = leads && (user.role !== 'owner' || me.role === 'owner')
  const other = any && user.role !== 'owner' && user.id !== me.id
  return { any, role: other, active: other }
}

const leads = (role: Role): boolean => role === 'owner' || role === 'admin'

/** Whether the service asks for the caller's own password before it makes this change of an account, or this account. */
export function needsPassword(was: User | null, change: Partial<Schemas['AccountChange']>): boolean {
  const role = change.role ?? was?.role ?? 'user'
  if (!leads(role) && !(was && leads(was.role))) return false
  return (
    was === null ||
    Boolean(change.password) ||
    (change.email !== undefined && change.email !== was.email) ||
    role !== was.role ||
    (change.active !== undefined && change.active !== was.active)
  )
}

export interface AgentRow {
  agentId: string
  name: string
  inRuntime: boolean | null
  account: User | null
}

/** Who the runtime knows, and who has an account, as one list: a deactivated account is shown where there is no active one. */
export function agentRows(agents: readonly Schemas['Agent'][], users: readonly User[]): AgentRow[] {
  const rows = new Map<string, AgentRow>()
  for (const a of agents)
    rows.set(a.agent_id, { agentId: a.agent_id, name: a.name, inRuntime: a.in_runtime, account: null })
  for (const user of users) {
    if (user.role !== 'agent' || user.agent_id === null) continue
    const row = rows.get(user.agent_id) ?? { agentId: user.agent_id, name: user.name, inRuntime: null, account: null }
    if (!row.account?.active) rows.set(user.agent_id, { ...row, account: user })
  }
  return [...rows.values()].sort((a, b) => a.agentId.localeCompare(b.agentId))
}

export interface Fact {
  field: string
  before?: string
  after: string
}

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v)

/** A value of the log as text; empty for none. */
export function shown(v: unknown): string {
  if (v === null || v === undefined) return ''
  return typeof v === 'string' ? v : JSON.stringify(v)
}

/** The facts of an event, each with what was before where that is told, however deep it stands. */
export function facts(data: unknown, prefix = ''): Fact[] {
  if (!isObject(data)) return []
  return Object.entries(data).flatMap(([name, v]): Fact[] => {
    const field = prefix + name
    if (isObject(v) && ('before' in v || 'after' in v))
      return [{ field, before: shown(v.before), after: shown(v.after) }]
    if (isObject(v)) return facts(v, name === 'changes' ? prefix : `${field}.`)
    return [{ field, after: shown(v) }]
  })
}

const letters = 'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** A password of 24 characters that nobody has to read aloud: about 139 bits. */
export function makePassword(
  random: (size: number) => Uint8Array = n => crypto.getRandomValues(new Uint8Array(n)),
): string {
  let out = ''
  // Bytes that would make some letters likelier than others are left out.
  const fair = 256 - (256 % letters.length)
  while (out.length < 24) {
    for (const b of random(32)) if (b < fair && out.length < 24) out += letters[b % letters.length]
  }
  return out
}

/** When a key of so many days ends; null is never. */
export const expiresAt = (days: number, now: number): string | null =>
  days > 0 ? new Date(now + days * 86_400_000).toISOString() : null

/**
 * What of a team is other than before. What follows the settings stays so while nobody writes something else, and what
 * has been emptied follows them from now on.
 */
export function teamChange(
  was: Schemas['StandupTeam'],
  now: Omit<Schemas['StandupNewTeam'], 'key'>,
): Schemas['StandupTeamChange'] {
  const optional = (name: 'timezone' | 'agent_timeout' | 'deadline') => {
    if (now[name]) return now[name] !== was[name] ? { [name]: now[name] } : {}
    return was.from_settings.includes(name) ? {} : { [name]: null }
  }
  return {
    ...(now.name !== was.name ? { name: now.name } : {}),
    ...(now.facilitator !== was.facilitator ? { facilitator: now.facilitator } : {}),
    ...(now.participants.join() !== was.participants.join() ? { participants: now.participants } : {}),
    ...optional('timezone'),
    ...optional('agent_timeout'),
    ...optional('deadline'),
  }
}
