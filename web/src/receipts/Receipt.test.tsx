// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import type { Schemas } from '../api/client'
import { ReceiptView } from './Receipt'

afterEach(cleanup)

const gap = { kind: 'changed_after_check', text: 'Files changed after `make check` last ran.' } as const

const receipt: Schemas['Receipt'] = {
  id: 'r2',
  task: 'TASK-2',
  agent_id: 'cpo',
  reported_at: '2026-11-28T08:00:00Z',
  made_at: '2026-11-28T08:01:00Z',
  pending: false,
  grade: 'checked',
  evidence: 'checked',
  gaps: [],
  checks: [
    {
      command: 'make check',
      kind: 'named',
      exit_code: 0,
      named: true,
      status: 'passed',
      fresh: true,
      at: '2026-11-28T07:59:00Z',
    },
  ],
  claimed: { text: 'Done.', admitted: [] },
  seen: null,
  verdict: null,
  earlier: [
    {
      id: 'r1',
      reported_at: '2026-11-27T08:00:00Z',
      grade: 'claimed',
      pending: false,
      gaps: [gap],
      verdict: { kind: 'sent_back', by: 'Owner', at: '2026-11-27T09:00:00Z' },
    },
  ],
}

const show = (receipt: Schemas['Receipt']) =>
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ReceiptView receipt={receipt} />
    </QueryClientProvider>,
  )

// One line must say whether the result can be believed; the rest is for those who doubt it.
it('says the grade and that the task was sent back before, and unfolds to what was recorded', () => {
  show(receipt)
  screen.getByText('Checked')
  screen.getByText('Sent back once before')
  expect(screen.queryByText('make check')).toBeNull()
  fireEvent.click(screen.getByRole('button', { name: 'Show what was recorded' }))
  screen.getByText('required')
  screen.getByText('Sent back by Owner')
  screen.getByText('Files changed after', { exact: false })
})

it('shows the gaps of the newest report without unfolding', () => {
  show({ ...receipt, grade: 'claimed', evidence: 'claimed', gaps: [gap], earlier: [] })
  screen.getByText('Claimed only')
  screen.getByText('make check')
  expect(screen.queryByText('No gaps')).toBeNull()
})

it('has no grade while the transcript is being read', () => {
  show({ ...receipt, grade: 'not_gradable', evidence: 'not_gradable', pending: true, earlier: [] })
  screen.getByText('Reading the transcript…')
  expect(screen.queryByText('Not gradable')).toBeNull()
})
