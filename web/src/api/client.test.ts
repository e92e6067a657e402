import { beforeEach, describe, expect, it, vi } from 'vitest'
import { now } from '../app/clock'
import { session } from '../app/session'
import { api, ifMatch, nextCursor, take, takePage } from './client'
import { asProblem, Problem } from './problem'

const asked: Request[] = []

function answer(status: number, body: unknown, headers: Record<string, string> = {}) {
  vi.stubGlobal('fetch', async (r: Request) => {
    asked.push(r)
    const type = status < 400 ? 'application/json' : 'application/problem+json'
    return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': type, ...headers } })
  })
}

beforeEach(() => {
  asked.length = 0
  session.signIn('the-token')
})

// All pages use this client.
describe('the client', () => {
  it('says who is asking, but not where that is no matter', async () => {
    answer(200, {})
    await take(api.GET('/api/v1/auth/me'))
    await take(api.GET('/api/v1/config'))
    expect(asked.map(r => r.headers.get('X-Wardroom-Token'))).toEqual(['the-token', null])
    // The browser fills it in where a proxy asks for a password.
    expect(asked.map(r => r.headers.get('Authorization'))).toEqual([null, null])
  })

  it('learns from answers what time it is, but nothing from the way that they take', async () => {
    const tells = (ms: number) => answer(200, {}, { Date: new Date(Date.now() + ms).toUTCString() })
    const off = () => Math.round((now() - Date.now()) / 1000)
    tells(2 * 3_600_000)
    await take(api.GET('/api/v1/auth/me'))
    expect(Math.abs(off() - 7200)).toBeLessThan(3)
    tells(-2_000)
    await take(api.GET('/api/v1/auth/me'))
    expect(off()).toBe(0)
    // A delayed response has an outdated Date header.
    const sent = Date.now()
    const clock = vi.spyOn(Date, 'now').mockReturnValue(sent)
    vi.stubGlobal('fetch', async () => {
      clock.mockReturnValue(sent + 9_000)
      return new Response('{}', { headers: { 'Content-Type': 'application/json', Date: new Date(sent).toUTCString() } })
    })
    await take(api.GET('/api/v1/auth/me'))
    clock.mockRestore()
    expect(off()).toBe(0)
  })

  it('promises to try again what is asked, and not what is to be changed', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')))
    const detail = async (call: Promise<unknown>) => ((await call.catch(e => e)) as Problem).detail
    expect(await detail(api.GET('/api/v1/auth/me'))).toContain('Retrying automatically')
    const change = api.PATCH('/api/v1/tasks/{id}', { params: { path: { id: 'TASK-1' } }, body: {} })
    expect(await detail(change)).toContain('probably not saved')
  })

  it('makes each POST repeatable, and keeps a key that was given', async () => {
    answer(201, { id: '1' })
    const body = { title: 'x' }
    await take(api.POST('/api/v1/tasks', { body }))
    await take(api.POST('/api/v1/tasks', { body }))
    await take(api.POST('/api/v1/tasks', { body, headers: { 'Idempotency-Key': 'mine' } }))
    const keys = asked.map(r => r.headers.get('Idempotency-Key'))
    expect(new Set(keys).size).toBe(3)
    expect(keys[2]).toBe('mine')
  })

  it('says which version a change is based on', async () => {
    answer(200, {})
    await take(
      api.PATCH('/api/v1/tasks/{id}', { params: { path: { id: 'TASK-1' }, header: ifMatch(7) }, body: { title: 'y' } }),
    )
    expect(asked[0]?.headers.get('If-Match')).toBe('"7"')
  })

  it('writes lists as the service reads them', async () => {
    answer(200, [])
    await takePage(api.GET('/api/v1/tasks', { params: { query: { status: ['todo', 'done'] } } }))
    expect(new URL(asked[0]?.url ?? '').search).toBe('?status=todo,done')
  })

  it('turns a refusal into a problem with its code, fields and facts', async () => {
    answer(409, {
      title: 'No.',
      status: 409,
      code: 'task_claimed',
      request_id: 'R',
      detail: 'D',
      errors: [{ pointer: '/title', detail: 'Too long.' }],
      holder: 'cto',
    })
    const problem = await take(api.GET('/api/v1/auth/me')).catch(e => e)
    expect(problem).toBeInstanceOf(Problem)
    expect(problem).toMatchObject({ status: 409, code: 'task_claimed', requestId: 'R', facts: { holder: 'cto' } })
    expect(problem.of('title')).toBe('Too long.')
    expect(problem.of('tit')).toBeUndefined()
  })

  it('tells how long to wait', async () => {
    answer(429, { title: 'Slow down.', code: 'too_many' }, { 'Retry-After': '17' })
    expect(await take(api.GET('/api/v1/auth/me')).catch(e => e)).toMatchObject({ retryAfter: 17 })
  })

  it('ends the session when its token is refused, and not when another is', async () => {
    answer(401, { title: 'Expired.', code: 'token_invalid' })
    await take(api.GET('/api/v1/auth/me')).catch(() => null)
    expect(session.token()).toBeNull()
    expect(session.ended()).toBe('expired')
    session.signIn('old')
    vi.stubGlobal('fetch', async () => {
      session.signIn('new')
      return new Response('{}', { status: 401, headers: { 'Content-Type': 'application/problem+json' } })
    })
    await take(api.GET('/api/v1/auth/me')).catch(() => null)
    expect(session.token()).toBe('new')
  })

  it('signs out on the server, and asks nothing when nobody is signed in', async () => {
    answer(200, {})
    session.signOut()
    expect(asked).toEqual(['/api/v1/auth/me/sessions/current'])
    expect(await take(api.GET('/api/v1/auth/me')).catch(e => e)).toMatchObject({ code: 'signed_out' })
    expect(asked).toHaveLength(1)
  })

  it('says that nobody answered, and is silent when it was told to give up', async () => {
    vi.stubGlobal('fetch', async () => {
      throw new TypeError('Failed to fetch')
    })
    expect(await take(api.GET('/api/v1/auth/me')).catch(e => e)).toMatchObject({ code: 'unreachable', status: 0 })
    vi.stubGlobal('fetch', async () => {
      throw new DOMException('aborted', 'AbortError')
    })
    expect(await take(api.GET('/api/v1/auth/me')).catch(e => e)).toMatchObject({ name: 'AbortError' })
  })

  it('survives an answer of something else', async () => {
    vi.stubGlobal(
      'fetch',
      async () => new Response('<h1>Bad gateway</h1>', { status: 502, headers: { 'Content-Type': 'text/html' } }),
    )
    expect(await take(api.GET('/api/v1/auth/me')).catch(e => e)).toMatchObject({ code: 'strange_answer', status: 502 })
  })

  // What a proxy answers must neither end the sign-in nor read as Wardroom's own answer.
  it.each([
    ['refuses', 401, 'text/html', '<h1>Sign in</h1>', 'HTTP 401 with a web page'],
    ['forbids', 403, 'text/html', '<h1>Forbidden</h1>', 'HTTP 403 with a web page'],
    ['finds nothing', 404, 'text/plain', 'no such host', 'HTTP 404'],
    ['shows its login page', 200, 'text/html; charset=utf-8', '<h1>Sign in</h1>', 'HTTP 200 with a web page'],
    ['answers with JSON', 401, 'application/json', '{"code":"token_invalid"}', 'HTTP 401'],
    ['answers with a problem without a code', 401, 'application/problem+json', '{"title":"No."}', 'HTTP 401'],
    ['answers with a problem that is none', 403, 'application/problem+json', '<h1>', 'HTTP 403'],
    ['breaks off', 200, 'application/json', '[{"id":', 'invalid JSON'],
  ])('keeps the sign-in when a proxy %s', async (_, status, type, body, what) => {
    vi.stubGlobal('fetch', async () => new Response(body, { status, headers: { 'Content-Type': type } }))
    for (const call of [
      api.GET('/api/v1/auth/me'),
      api.PATCH('/api/v1/tasks/{id}', { params: { path: { id: 'TASK-1' } }, body: {} }),
    ]) {
      const problem = asProblem(await take(call as never).catch(e => e))
      expect(problem).toMatchObject({ code: 'strange_answer', status: 0, detail: `It sent ${what}. Reload the page.` })
    }
    expect(session.token()).toBe('the-token')
  })

  it('finds the next page', () => {
    const of = (link: string) => nextCursor(new Response('', { headers: { Link: link } }))
    expect(of('</api/v1/tasks?cursor=abc%3D&limit=2>; rel="next"')).toBe('abc=')
    expect(of('</a?cursor=1>; rel="prev"')).toBeNull()
    expect(nextCursor(new Response(''))).toBeNull()
  })
})
