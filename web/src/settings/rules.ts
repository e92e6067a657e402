import type { Schemas } from '../api/client'
import { comparable } from '../app/comparable'

export type User = Schemas['AccountUser']
export type Key = Schemas['AccountKey']
export type Role = User['role']
export type Exam = Schemas['GatewayExamination']
export type Layer = Exam['layers'][number]['layer']

/** The layers of the gateway connection, each depending on the one before. */
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
  /** Cause and fix; only on the first failed layer. */
  failure: { cause: string; fix: string } | null
}

/** Converts the doctor's result to a checklist. Without a result every check is waiting. */
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

/** Returns the parts of a text that can be copied: gateway commands, and settings with values. */
export function copyable(text: string): string[] {
  const found = [...text.matchAll(command), ...text.matchAll(setting)]
  return [...new Set(found.sort((a, b) => a.index - b.index).map(m => m[0].replace(/[.:]+$/, '')))]
}

/** Returns whether a key works, is expired, or is revoked. */
export function keyState(key: Pick<Key, 'revoked_at' | 'expires_at'>, now: number): 'works' | 'expired' | 'revoked' {
  if (key.revoked_at !== null) return 'revoked'
  return key.expires_at !== null && Date.parse(key.expires_at) <= now ? 'expired' : 'works'
}

export interface UserFilters {
  q?: string | undefined
  role?: string | undefined
  show?: string | undefined
}

/** Returns whether an account matches the filters. */
export function userFits(user: User, f: UserFilters): boolean {
  const text = f.q && comparable(f.q)
  return (
    (!f.role || user.role === f.role) &&
    (!f.show || f.show === 'all' || user.active === (f.show === 'active')) &&
    (!text || comparable(`${user.name} ${user.email} ${user.agent_id ?? ''}`).includes(text))
  )
}

const rank: Record<Role, number> = { owner: 0, admin: 1, user: 2, agent: 3 }

/** Sorts active accounts first, then the owner, then by role and name. */
export const byRank = (a: User, b: User): number =>
  Number(b.active) - Number(a.active) || rank[a.role] - rank[b.role] || a.name.localeCompare(b.name)

/** Returns what the user may change of an account, so that nothing is offered that the server would refuse. */
export function mayChange(me: User, user: User): { any: boolean; role: boolean; active: boolean } {
  const leads = me.role === 'owner' || me.role === 'admin'
  const any = leads && (user.role !== 'owner' || me.role === 'owner')
  const other = any && user.role !== 'owner' && user.id !== me.id
  return { any, role: other, active: other }
}

const leads = (role: Role): boolean => role === 'owner' || role === 'admin'

/** Returns whether the server requires the user's password for a change of an account, or for a new one. */
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

/**
 * Merges the runtime's agents and the agent accounts. A deactivated account is listed only if there is no active one.
 */
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

/** Formats a value of an event; empty for none. */
function shown(v: unknown): string {
  if (v === null || v === undefined) return ''
  return typeof v === 'string' ? v : JSON.stringify(v)
}

/** Flattens the data of an event into facts, with the values before and after. */
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

/** Generates a password of 24 characters (about 139 bits). */
export function makePassword(
  random: (size: number) => Uint8Array = n => crypto.getRandomValues(new Uint8Array(n)),
): string {
  let out = ''
  // Skips bytes that would make some characters more likely.
  const fair = 256 - (256 % letters.length)
  while (out.length < 24) {
    for (const b of random(32)) if (b < fair && out.length < 24) out += letters[b % letters.length]
  }
  return out
}

/** Returns when a key expires; null for never. */
export const expiresAt = (days: number, now: number): string | null =>
  days > 0 ? new Date(now + days * 86_400_000).toISOString() : null

/**
 * Returns the changed fields of a team. A field that follows the settings keeps doing so until it is edited, and an
 * emptied field follows them again.
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

/**
 * Returns the change of the gateway's address and token, from the fields of the form. An empty token keeps the stored
 * one, unless the address changes: then the gateway gets none.
 */
export function gatewayChange(
  is: Pick<Schemas['SettingsGateway'], 'url' | 'token'>,
  address: string,
  secret: string,
): Schemas['SettingsGatewayChange'] {
  const to = address.trim()
  const moved = is.url.editable && to !== is.url.value
  const token = secret.trim()
  return {
    ...(moved ? { url: to } : {}),
    ...(token ? { token } : moved && is.token.editable ? { token: null } : {}),
  }
}

/**
 * Returns what another number of days means for the next purge: how many more items it removes, or how many of those due
 * now it keeps. Undefined while the counts are unknown.
 */
export function effectOf(
  of: readonly Pick<Schemas['RetentionStatus'], 'preview'>[],
  due: readonly { count: number }[] | undefined,
): { is: 'earlier' | 'later' | 'same'; count: number } | undefined {
  if (!due) return undefined
  const sum = (list: readonly { count: number }[]) => list.reduce((n, one) => n + one.count, 0)
  const more = sum(due) - sum(of.map(p => ({ count: p.preview?.count ?? 0 })))
  return { is: more > 0 ? 'earlier' : more < 0 ? 'later' : 'same', count: Math.abs(more) }
}
