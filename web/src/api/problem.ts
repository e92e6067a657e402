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

/** Reads an error response: RFC 9457 from the server, or anything else from a proxy. */
export async function readProblem(response: Response): Promise<Problem> {
  const wait = Number(response.headers.get('Retry-After') ?? Number.NaN)
  const common = { status: response.status, retryAfter: Number.isFinite(wait) ? wait : null }
  const ours = response.headers.get('Content-Type')?.startsWith('application/problem+json')
  const body: unknown = ours ? await response.json().catch(() => null) : null
  if (typeof body !== 'object' || body === null) {
    return new Problem({
      ...common,
      code: 'strange_answer',
      title: 'A proxy answered instead of Wardroom.',
      detail: `HTTP ${response.status}`,
    })
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
    ...common,
    code: text(code) || 'unknown',
    title: text(title) || `HTTP ${response.status}`,
    detail: text(detail),
    fields: Array.isArray(errors) ? errors.filter(isField) : [],
    requestId: text(request_id),
    facts,
  })
}
