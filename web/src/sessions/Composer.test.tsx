// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { Composer } from './Composer'
import { type Outbox, useOutbox } from './outbox'

interface Posted {
  path: string
  body: string
  key: string | null
}

const posted: Posted[] = []
let answers: (() => Response | Promise<Response>)[] = []
let outbox: Outbox

const json = (body: unknown, status = 200) =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': status < 300 ? 'application/json' : 'application/problem+json' },
  })

beforeEach(() => {
  session.signIn('somebody')
  posted.length = 0
  answers = []
  vi.stubGlobal('fetch', async (request: Request) => {
    if (request.method !== 'POST') return json({ id: 'u1', role: 'owner', name: 'Ada' })
    posted.push({
      path: decodeURIComponent(new URL(request.url).pathname),
      body: await request.text(),
      key: request.headers.get('Idempotency-Key'),
    })
    return answers.shift()?.() ?? json({ run_id: 'wardroom-1', session_key: 'agent:cto:main' }, 202)
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

function Conversation({ of: key, away = false }: { of: string; away?: boolean }) {
  outbox = useOutbox(key)
  return (
    <Composer
      active={false}
      agent="CTO"
      away={away}
      focus={false}
      last={null}
      of="agent:cto:main"
      onFocused={() => {}}
      outbox={outbox}
    />
  )
}

function open(key = 'agent:cto:main') {
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  const of = (away: boolean) => (
    <QueryClientProvider client={cache}>
      <Conversation away={away} of={key} />
    </QueryClientProvider>
  )
  const { rerender } = render(of(false))
  return (away: boolean) => rerender(of(away))
}

async function write(text: string) {
  const field = (await screen.findByRole('textbox')) as HTMLTextAreaElement
  fireEvent.change(field, { target: { value: text } })
  fireEvent.keyDown(field, { key: 'Enter', ctrlKey: true })
  return field
}

describe('a message to an agent', () => {
  // A short disconnect must not discard the text, or send keystrokes to the page's shortcuts.
  it('keeps its focus and its text while the gateway is away, and is not sent', async () => {
    const become = open()
    const field = (await screen.findByRole('textbox')) as HTMLTextAreaElement
    field.focus()
    fireEvent.change(field, { target: { value: 'Half a sentence' } })
    become(true)
    expect(document.activeElement).toBe(field)
    expect(field.disabled).toBe(false)
    fireEvent.change(field, { target: { value: 'Half a sentence, and more' } })
    fireEvent.keyDown(field, { key: 'Enter', ctrlKey: true })
    fireEvent.submit(field.form as HTMLFormElement)
    expect(field.value).toBe('Half a sentence, and more')
    become(false)
    expect(posted).toEqual([])
    fireEvent.keyDown(field, { key: 'Enter', ctrlKey: true })
    await waitFor(() => expect(posted[0]?.body).toBe('{"text":"Half a sentence, and more"}'))
    expect(posted[0]?.path).toBe('/api/v1/agents/cto/messages')
  })

  it('leaves the field at once, and is sending, then sent', async () => {
    open('agent:cto:task:task-1')
    let accept = () => {}
    answers = [
      () =>
        new Promise(done => {
          accept = () => done(json({ run_id: 'wardroom-1', session_key: 'agent:cto:task:task-1' }, 202))
        }),
    ]
    const field = await write('Hello')
    expect(field.value).toBe('')
    await waitFor(() => expect(outbox.list).toMatchObject([{ text: 'Hello', sender: 'Ada', state: 'sending' }]))
    accept()
    await waitFor(() => expect(outbox.list).toMatchObject([{ state: 'sent', runId: 'wardroom-1' }]))
    expect(posted[0]?.path).toBe('/api/v1/agentrt/sessions/agent:cto:task:task-1/messages')
  })

  it('that failed keeps its text, and is tried again with the same key', async () => {
    open()
    answers = [() => json({ code: 'gateway_timeout', title: 'Timed out.', maybe_sent: true }, 504)]
    await write('Hello')
    await waitFor(() => expect(outbox.list).toMatchObject([{ text: 'Hello', state: 'failed' }]))
    outbox.again(outbox.list[0]?.id ?? '')
    await waitFor(() => expect(outbox.list).toMatchObject([{ state: 'sent', problem: null }]))
    expect(posted).toHaveLength(2)
    expect(posted[1]).toEqual(posted[0])
    outbox.discard([outbox.list[0]?.id ?? ''])
    await waitFor(() => expect(outbox.list).toEqual([]))
  })

  it('that the server rejects goes back to the field, with the reason', async () => {
    open()
    answers = [
      () =>
        json({ code: 'invalid_input', title: 'Invalid.', errors: [{ pointer: '/text', detail: 'Not a slash.' }] }, 422),
    ]
    const field = await write('/reset')
    await waitFor(() => expect(field.value).toBe('/reset'))
    expect(screen.getByText('Not a slash.')).toBeTruthy()
    expect(outbox.list).toEqual([])
  })
})
