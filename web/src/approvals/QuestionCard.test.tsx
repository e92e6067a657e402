// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { now } from '../app/clock'
import { queries } from '../app/queries'
import { QuestionCard } from './QuestionCard'
import { type Question, questionQuery } from './queries'

vi.mock('../ui/TextLink', () => ({
  TextLink: ({ href, children }: { href: string; children: unknown }) => <a href={href}>{children as string}</a>,
  sessionHref: (key: string) => `/sessions/${key}`,
}))

afterEach(cleanup)

const asked: Question = {
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

function show(q: Partial<Question>) {
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, retry: false } } })
  cache.setQueryData(queries.me.queryKey, { id: 'u1', name: 'Pia', role: 'admin' } as never)
  cache.setQueryData(queries.agents.queryKey, [{ agent_id: 'cto', name: 'CTO' }] as never)
  cache.setQueryData(questionQuery('q1').queryKey, { ...asked, ...q })
  render(
    <QueryClientProvider client={cache}>
      <QuestionCard id="q1" />
    </QueryClientProvider>,
  )
  return document.body.textContent ?? ''
}

describe('a question that an agent asked with ask_human', () => {
  it('can be answered as long as it waits, without a countdown if it does not expire', () => {
    expect(show({})).not.toContain('Expires')
    expect(screen.getByRole('button', { name: 'Skip question' })).toBeTruthy()
    expect(screen.getByRole('radio', { name: 'Staging' })).toBeTruthy()
  })
  it('names days until it expires, not minutes', () => {
    expect(show({ expires_at: new Date(now() + 3 * 24 * 3_600_000 + 60_000).toISOString() })).toContain(
      'Expires in 3 d',
    )
  })
  it.each([
    ['expired', 'CTO got no answer in time'],
    ['withdrawn', 'CTO withdrew the question'],
  ] as const)('says that it is %s', (state, text) => {
    expect(show({ state, ended_at: '2026-11-16T13:00:00Z' })).toContain(text)
    expect(screen.queryByRole('button', { name: 'Skip question' })).toBeNull()
  })
  it('says why the agent does not have the answer, and nothing once it has', () => {
    const answer: Partial<Question> = { state: 'answered', by, answers: { answer: ['Staging'] } }
    const text = show({ ...answer, delivery: 'due', delivery_note: 'The agent is held.' })
    expect(text).toContain('CTO has not received the answer yet. The agent is held.')
    expect(text).toContain('Pia answered')
    cleanup()
    expect(show({ ...answer, delivery: 'sent' })).not.toContain('received')
  })
})
