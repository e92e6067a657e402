/** A validation error of one field. */
export interface FieldProblem {
  pointer: string
  detail: string
}

/** A failed request. Code compares `code`; `title` and `detail` are for people. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
  readonly fields: FieldProblem[]
  readonly requestId: string
  /** Seconds to wait before a retry, from the Retry-After header. */
  readonly retryAfter: number | null
  /** Further fields of the problem, such as the claim holder, the blocking tasks, or the current version. */
  readonly facts: Readonly<Record<string, unknown>>

  constructor(of: Partial<Omit<Problem, 'name' | 'message' | 'stack'>> & { code: string; title: string }) {
    super(of.detail ? `${of.title} ${of.detail}` : of.title)
    this.name = 'Problem'
    this.status = of.status ?? 0
    this.code = of.code
    this.title = of.title
    this.detail = of.detail ?? ''
    this.fields = of.fields ?? []
    this.requestId = of.requestId ?? ''
    this.retryAfter = of.retryAfter ?? null
    this.facts = of.facts ?? {}
  }

  /** Returns the validation error of a field, such as `email`. */
  of(field: string): string | undefined {
    return this.fields.find(f => f.pointer === `/${field}` || f.pointer.startsWith(`/${field}/`))?.detail
  }
}

/** Converts any thrown value to a Problem. */
export function asProblem(err: unknown): Problem {
  if (err instanceof Problem) return err
  // Wardroom's JSON is valid.
  if (err instanceof SyntaxError) return foreignAnswer('invalid JSON')
  return new Problem({ code: 'page_failed', title: 'Something went wrong in the dashboard.', detail: String(err) })
}

/** Returns the problem of a request that didn't reach the server. Queries are retried; changes are not. */
export const unreachable = (method = 'GET'): Problem =>
  new Problem({
    code: 'unreachable',
    title: 'Wardroom isn’t responding.',
    detail:
      method === 'GET'
        ? 'Retrying automatically.'
        : 'The change was probably not saved. Check it when Wardroom is back, and try again.',
  })

/** Returns the problem of a request in a tab whose user has signed out. */
export const signedOut = (): Problem => new Problem({ status: 401, code: 'signed_out', title: 'You are signed out.' })

const text = (v: unknown): string => (typeof v === 'string' ? v : '')

const isField = (v: unknown): v is FieldProblem =>
  typeof v === 'object' && v !== null && 'pointer' in v && 'detail' in v && typeof v.detail === 'string'

/** The code of a response that something else than Wardroom sent, such as a proxy's login page. */
const foreignCode = 'strange_answer'

/** What a proxy means by these says nothing about the user's role or about Wardroom's data. */
const misleading = [401, 403, 404]

/** Returns the problem of a response that is not Wardroom's. It has no status that could be taken for Wardroom's. */
const foreignAnswer = (what: string, status = 0, retryAfter: number | null = null): Problem =>
  new Problem({
    retryAfter,
    status: status < 400 || misleading.includes(status) ? 0 : status,
    code: foreignCode,
    title: 'A proxy answered instead of Wardroom.',
    detail: `It sent ${what}. Reload the page.`,
    facts: { what },
  })

/** Describes a response of something else than Wardroom. Where a redirect leads is unknown. */
export function whatSent(response: Response): string {
  if (response.type === 'opaqueredirect') return 'a redirect'
  const isPage = /^text\/html\b/i.test(response.headers.get('Content-Type') ?? '')
  return `HTTP ${response.status}${isPage ? ' with a web page' : ''}`
}

/** Returns what something else than Wardroom sent, such as `HTTP 401`; null if the problem is Wardroom's own. */
export const foreignWhat = (problem: Problem): string | null =>
  problem.code === foreignCode ? text(problem.facts.what) : null

/** The codes with which Wardroom refuses a token or its account, and not only a request. */
const ending = ['token_invalid', 'sign_in_required', 'account_deactivated']

/** Returns whether Wardroom refused the sign-in itself. */
export const endsSignIn = (problem: Problem): boolean =>
  (problem.status === 401 || problem.status === 403) && ending.includes(problem.code)

/**
 * Returns why a response can't be used: the problem that Wardroom reports (RFC 9457), or that something else answered.
 * Returns null for a successful response of Wardroom.
 */
export async function problemOf(response: Response, isStream = false): Promise<Problem | null> {
  const { ok, status } = response
  const wait = Number(response.headers.get('Retry-After') ?? Number.NaN)
  const retryAfter = Number.isFinite(wait) ? wait : null
  const type = response.headers.get('Content-Type') ?? ''
  // The API has no web pages. What else is no JSON fails where it is read.
  const isOwn = isStream ? /^text\/event-stream\b/i.test(type) : !/^text\/html\b/i.test(type)
  if (status === 304 || (ok && isOwn)) return null
  const body: unknown = /^application\/problem\+json\b/i.test(type) ? await response.json().catch(() => null) : null
  if (ok || typeof body !== 'object' || body === null || !('code' in body) || text(body.code) === '') {
    // Wardroom's API doesn't redirect.
    return foreignAnswer(whatSent(response), status, retryAfter)
  }
  const {
    type: _,
    title,
    status: __,
    detail,
    instance: ___,
    code,
    request_id,
    errors,
    ...facts
  } = body as Record<string, unknown>
  return new Problem({
    status,
    retryAfter,
    code: text(code),
    title: text(title) || `HTTP ${status}`,
    detail: text(detail),
    fields: Array.isArray(errors) ? errors.filter(isField) : [],
    requestId: text(request_id),
    facts,
  })
}
