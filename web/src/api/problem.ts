/** One thing that was refused in what was sent. */
export interface FieldProblem {
  pointer: string
  detail: string
}

/**
 * A request that did not do what was asked. `code` is stable and what the code
 * looks at; `title` and `detail` are sentences for people, written by the service.
 */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
  readonly fields: FieldProblem[]
  readonly requestId: string
  /** Seconds to wait, when the service asked for that. */
  readonly retryAfter: number | null
  /** What else the service told: who holds it, which tasks block, the present version. */
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

  /** What was wrong with one field of the body, such as `email`. */
  of(field: string): string | undefined {
    return this.fields.find(f => f.pointer === `/${field}` || f.pointer.startsWith(`/${field}/`))?.detail
  }
}

/** Whatever was thrown, as a problem that can be shown. */
export function asProblem(err: unknown): Problem {
  if (err instanceof Problem) return err
  return new Problem({ code: 'page_failed', title: 'Something went wrong in the dashboard.', detail: String(err) })
}

/** Nobody answered: no connection, or the service is not running. What was asked is asked again; a change is not made again. */
export const unreachable = (method = 'GET'): Problem =>
  new Problem({
    code: 'unreachable',
    title: 'Wardroom isn’t responding.',
    detail:
      method === 'GET'
        ? 'Retrying automatically.'
        : 'The change was probably not saved. Check it when Wardroom is back, and try again.',
  })

/** Nobody is signed in on this tab any more. */
export const signedOut = (): Problem => new Problem({ status: 401, code: 'signed_out', title: 'You are signed out.' })

const text = (v: unknown): string => (typeof v === 'string' ? v : '')

const isField = (v: unknown): v is FieldProblem =>
  typeof v === 'object' && v !== null && 'pointer' in v && 'detail' in v && typeof v.detail === 'string'

/** Reads an answer that is no success: RFC 9457 when it is ours, something of a proxy when it is not. */
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
