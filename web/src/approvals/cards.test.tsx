// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import type { ReactNode } from 'react'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { now } from '../app/clock'
import { queries } from '../app/queries'
import { ApprovalCard } from './ApprovalCard'
import { QuestionCard } from './QuestionCard'
import { type Approval, approvalQuery, type Question, questionQuery } from './queries'

vi.mock('../ui/TextLink', () => ({
  TextLink: ({ href, children }: { href: string; children: unknown }) => <a href={href}>{children as string}</a>,
  sessionHref: (key: string) => `/sessions/${key}`,
}))

afterEach(cleanup)

const approval: Approval = {
  id: 'a1',
  kind: 'exec',
  state: 'pending',
  agent_id: 'cto',
  session_key: 'agent:cto:main',
  run_id: 'r1',
  task: '',
  created_at: '2026-11-16T12:00:00Z',
  expires_at: new Date(now() + 90_500).toISOString(),
  shown: 'digest',
  ended_at: null,
  by: null,
  decision: '',
  decisions: ['allow-once', 'deny'],
  earlier: [],
  spent_usd: null,
  action: {
    command: 'git push --force',
    title: '',
    detail: '',
    directory: '',
    executable: '',
    host: '',
    risks: [],
    scope: '',
    severity: '',
    source: '',
  },
}

const question: Question = {
  id: 'q1',
  state: 'pending',
  agent_id: 'cto',
  session_key: 'agent:cto:main',
  run_id: '',
  task: 'TASK-7',
  created_at: '2026-11-16T12:00:00Z',
  expires_at: null,
  shown: 'digest',
  ended_at: null,
  by: null,
  parts: [
    {
      id: 'answer',
      header: '',
      text: 'Where shall I deploy?',
      options: [{ label: 'Staging', description: '' }],
      multiple: false,
      other: true,
    },
  ],
  answers: {},
  source: 'wardroom',
  delivery: '',
  delivery_note: '',
}

const by = { id: 'u1', name: 'Pia', role: 'admin' }

/** Shows a card to a user of the given role, and returns its text. */
function show(card: ReactNode, role: 'admin' | 'member' = 'admin', a?: Partial<Approval>, q?: Partial<Question>) {
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, retry: false } } })
  cache.setQueryData(queries.me.queryKey, { id: 'u1', name: 'Pia', role } as never)
  cache.setQueryData(queries.agents.queryKey, [{ agent_id: 'cto', name: 'CTO' }] as never)
  cache.setQueryData(approvalQuery('a1').queryKey, { ...approval, ...a })
  cache.setQueryData(questionQuery('q1').queryKey, { ...question, ...q })
  render(<QueryClientProvider client={cache}>{card}</QueryClientProvider>)
  return document.body.textContent ?? ''
}

const asks = (q: Partial<Question>) => show(<QuestionCard id="q1" />, 'admin', {}, q)
const wants = (a: Partial<Approval>, role: 'admin' | 'member' = 'admin') => show(<ApprovalCard id="a1" />, role, a)

describe('an approval', () => {
  it('counts down, and says what happens then', () => {
    expect(wants({})).toMatch(/Expires in 1:3\d, then the command does not run/)
    expect(screen.getByRole('button', { name: 'Allow once' })).toBeTruthy()
  })
  it('of a plugin has a title and its arguments instead of a command', () => {
    const action = { ...approval.action, command: '', title: 'Send an email', detail: '{"to":"all"}' }
    const text = wants({ kind: 'plugin', action })
    for (const part of ['CTO wants approval', 'Send an email', '{"to":"all"}', 'then it is denied'])
      expect(text).toContain(part)
  })
  it('that expired offers to tell the agent, to those who lead', () => {
    const over = { state: 'expired', ended_at: '2026-11-16T12:30:00Z' } as const
    expect(wants(over)).toContain('Expired, so the command did not run')
    expect(screen.queryByRole('button', { name: 'Allow once' })).toBeNull()
    expect(screen.getByText('Tell CTO').getAttribute('href')).toBe('/sessions/agent:cto:main?compose=1')
    cleanup()
    wants(over, 'member')
    expect(screen.queryByText('Tell CTO')).toBeNull()
  })
  it('has no buttons for those who may not answer', () => {
    expect(wants({}, 'member')).toContain('Only the owner and admins can answer.')
    expect(screen.queryByRole('button')).toBeNull()
  })
})

describe('a question that an agent asked with ask_human', () => {
  it('can be answered as long as it waits, without a countdown if it does not expire', () => {
    expect(asks({})).not.toContain('Expires')
    expect(screen.getByRole('button', { name: 'Skip question' })).toBeTruthy()
    expect(screen.getByRole('radio', { name: 'Staging' })).toBeTruthy()
  })
  it('names days until it expires, not minutes', () => {
    expect(asks({ expires_at: new Date(now() + 3 * 24 * 3_600_000 + 60_000).toISOString() })).toContain(
      'Expires in 3 d',
    )
  })
  it.each([
    ['expired', 'CTO got no answer in time'],
    ['withdrawn', 'CTO withdrew the question'],
  ] as const)('says that it is %s', (state, text) => {
    expect(asks({ state, ended_at: '2026-11-16T13:00:00Z' })).toContain(text)
    expect(screen.queryByRole('button', { name: 'Skip question' })).toBeNull()
  })
  it('says why the agent does not have the answer, and nothing once it has', () => {
    const answer: Partial<Question> = { state: 'answered', by, answers: { answer: ['Staging'] } }
    const text = asks({ ...answer, delivery: 'due', delivery_note: 'The agent is held.' })
    expect(text).toContain('CTO has not received the answer yet. The agent is held.')
    expect(text).toContain('Pia answered')
    cleanup()
    expect(asks({ ...answer, delivery: 'sent' })).not.toContain('received')
  })
})
