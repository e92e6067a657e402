import createClient, { type Middleware } from 'openapi-fetch'
import { hear } from '../app/clock'
import { session } from '../app/session'
import { Problem, readProblem, signedOut, unreachable } from './problem'
import type { components, paths } from './schema'

/** The types of the API, as its document has them. */
export type Schemas = components['schemas']

/** A name for one try to make something: whoever tries again sends the same. */
export function newKey(): string {
  // randomUUID is there on secure origins only, and the service may be opened as http://10.0.0.5:3000.
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, b => b.toString(16).padStart(2, '0')).join('')
}

/** The headers of a change that is based on a version; 412 when the resource has moved on. */
export const ifMatch = (version: number): { 'If-Match': string } => ({ 'If-Match': `"${version}"` })

/** Where requests go that must not say who is asking, and whose 401 is about what was typed. */
const open = ['/api/v1/auth/login', '/api/v1/auth/register', '/api/v1/auth/setup', '/api/v1/config']

/** When each request went off, by our clock. */
const begun = new WeakMap<Request, number>()

/** An answer that was longer on its way, or waited for a machine that slept, does not tell what time it is. */
const prompt = 4_000

const usual: Middleware = {
  onRequest({ request, schemaPath }) {
    begun.set(request, Date.now())
    if (!open.includes(schemaPath)) {
      const token = session.token()
      // What is still on its way when somebody signs out need not be refused by the service.
      if (token === null) throw signedOut()
      request.headers.set('Authorization', `Bearer ${token}`)
      if (request.method === 'POST' && !request.headers.has('Idempotency-Key')) {
        request.headers.set('Idempotency-Key', newKey())
      }
    }
    return request
  },
  async onResponse({ request, response, schemaPath }) {
    if (Date.now() - (begun.get(request) ?? 0) < prompt) hear(response.headers.get('Date'))
    if (response.ok || response.status === 304) return undefined
    const problem = await readProblem(response)
    if (problem.status === 401 && !open.includes(schemaPath)) {
      session.refused(request.headers.get('Authorization')?.slice('Bearer '.length) ?? null, problem.code)
    }
    throw problem
  },
  onError({ error, request }) {
    if (error instanceof Problem || (error instanceof DOMException && error.name === 'AbortError'))
      return error as Error
    return unreachable(request.method)
  },
}

/** The one client of the API. Its calls end in data, or throw a Problem; pass `signal` to give up on one. */
export const api = createClient<paths>({
  baseUrl: typeof location === 'undefined' ? 'http://localhost' : location.origin,
  // Asked at each call, so that tests can put another in its place.
  fetch: request => fetch(request),
  querySerializer: { array: { style: 'form', explode: false } },
})
api.use(usual)

/** What a call answered. The middleware has thrown whatever was no success. */
export async function take<T>(call: Promise<{ data?: T; response: Response }>): Promise<NonNullable<T>> {
  const { data } = await call
  if (data === undefined || data === null) throw new Problem({ code: 'strange_answer', title: 'The response was empty.' })
  return data
}

/** The cursor of the next page, from the header `Link`; null on the last one. */
export function nextCursor(response: Response): string | null {
  for (const part of (response.headers.get('Link') ?? '').split(/,\s*(?=<)/)) {
    const found = /^<([^>]*)>;.*\brel="?next"?/.exec(part)
    if (found?.[1]) return new URL(found[1], 'http://any').searchParams.get('cursor')
  }
  return null
}

/** One page of a list, and where the next begins. */
export interface Page<T> {
  rows: T[]
  next: string | null
}

/** A list's call as a page. */
export async function takePage<T>(call: Promise<{ data?: T[] | null; response: Response }>): Promise<Page<T>> {
  const { data, response } = await call
  return { rows: data ?? [], next: nextCursor(response) }
}
