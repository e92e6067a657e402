import createClient, { type Middleware } from 'openapi-fetch'
import { base } from '../app/base'
import { hear } from '../app/clock'
import { noteForeign, noteSent } from '../app/delivery'
import { session } from '../app/session'
import { endsSignIn, foreignWhat, Problem, problemOf, signedOut, unreachable } from './problem'
import type { components, paths } from './schema'
import { tokenHeader } from './tokenHeader'

/** The schemas of the OpenAPI document. */
export type Schemas = components['schemas']

/** Returns an idempotency key. A retry sends the same key. */
export function newKey(): string {
  // randomUUID exists only on secure origins, and Wardroom may be opened as http://10.0.0.5:3000.
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, b => b.toString(16).padStart(2, '0')).join('')
}

/** Returns the If-Match header for changing this version of a resource. The server answers 412 if it is outdated. */
export const ifMatch = (version: number): { 'If-Match': string } => ({ 'If-Match': `"${version}"` })

/** Endpoints without a token. Their 401 is about the submitted credentials, not the session. */
const open = [
  '/api/v1/auth/login',
  '/api/v1/auth/link',
  '/api/v1/auth/register',
  '/api/v1/auth/setup',
  '/api/v1/config',
]

/** When each request was sent, by the local clock. */
const begun = new WeakMap<Request, number>()

/** After this many ms, the `Date` header of a response is ignored: it was delayed, or the machine was asleep. */
const prompt = 4_000

const usual: Middleware = {
  onRequest({ request, schemaPath }) {
    begun.set(request, Date.now())
    if (!open.includes(schemaPath)) {
      const token = session.token()
      // After sign-out, requests fail here instead of being refused by the server.
      if (token === null) throw signedOut()
      request.headers.set(tokenHeader, token)
      if (request.method === 'POST' && !request.headers.has('Idempotency-Key')) {
        request.headers.set('Idempotency-Key', newKey())
      }
    }
    return request
  },
  async onResponse({ request, response, schemaPath }) {
    const problem = await problemOf(response)
    const foreign = problem && foreignWhat(problem)
    noteForeign('data', foreign)
    if (foreign === null && Date.now() - (begun.get(request) ?? 0) < prompt) hear(response.headers.get('Date'))
    if (problem === null) return undefined
    if (endsSignIn(problem) && !open.includes(schemaPath)) {
      session.refused(request.headers.get(tokenHeader), problem.code)
    }
    throw problem
  },
  onError({ error, request }) {
    if (error instanceof Problem || (error instanceof DOMException && error.name === 'AbortError'))
      return error as Error
    noteForeign('data', null)
    return unreachable(request.method)
  },
}

/** The API client. Calls return data or throw a Problem. Pass `signal` to cancel one. */
export const api = createClient<paths>({
  baseUrl: (typeof location === 'undefined' ? 'http://localhost' : location.origin) + base,
  redirect: 'manual',
  fetch: request => {
    const answered = noteSent()
    // Looked up on each call, so that tests can replace it.
    return fetch(request).finally(answered)
  },
  querySerializer: { array: { style: 'form', explode: false } },
})
api.use(usual)

/** Returns the data of a call. The middleware has already thrown for errors. */
export async function take<T>(call: Promise<{ data?: T; response: Response }>): Promise<NonNullable<T>> {
  const { data } = await call
  if (data === undefined || data === null)
    throw new Problem({ code: 'strange_answer', title: 'The response was empty.' })
  return data
}

/** Returns the cursor of the next page from the `Link` header, or null on the last page. */
export function nextCursor(response: Response): string | null {
  for (const part of (response.headers.get('Link') ?? '').split(/,\s*(?=<)/)) {
    const found = /^<([^>]*)>;.*\brel="?next"?/.exec(part)
    if (found?.[1]) return new URL(found[1], 'http://any').searchParams.get('cursor')
  }
  return null
}

/** One page of a list, and the cursor of the next. */
export interface Page<T> {
  rows: T[]
  next: string | null
}

/** Returns the rows of a list call and the cursor of the next page. */
export async function takePage<T>(call: Promise<{ data?: T[] | null; response: Response }>): Promise<Page<T>> {
  const { data, response } = await call
  return { rows: data ?? [], next: nextCursor(response) }
}
