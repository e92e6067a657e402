import { useRef, useState } from 'react'
import { api, newKey, take } from '../api/client'
import { asProblem, type Problem } from '../api/problem'
import { leads, useMe } from '../app/queries'
import { sessions as sessionsWords } from '../texts/sessions'
import { Button } from '../ui/Button'
import { TextArea } from '../ui/Field'
import { say } from '../ui/toast'
import { canonical } from './liveSessions'
import type { Session } from './session'

const words = sessionsWords
const w = words.send

/** Sends messages to a session. A retry uses the same idempotency key, so that the agent gets the message once. */
export function Composer({ session, agent, away }: { session: Session; agent: string | undefined; away: boolean }) {
  const me = useMe().data
  const name = agent ?? w.agent
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<Problem | null>(null)
  const tried = useRef<{ text: string; key: string } | null>(null)
  if (!me) return null
  if (!leads(me)) return <p className="shrink-0 border-line border-t px-3 py-2 text-soft">{words.mayNot(me.role)}</p>
  const send = async () => {
    const said = text.trim()
    if (said === '' || busy || away) return
    if (tried.current?.text !== said) tried.current = { text: said, key: newKey() }
    setBusy(true)
    setFailed(null)
    try {
      const params = {
        path: { key: canonical(session.key) },
        header: { 'Idempotency-Key': tried.current.key },
      }
      await take(api.POST('/api/v1/agentrt/sessions/{key}/messages', { params, body: { text: said } }))
      tried.current = null
      setText(now => (now.trim() === said ? '' : now))
      say(w.sent)
    } catch (err) {
      setFailed(asProblem(err))
    } finally {
      setBusy(false)
    }
  }
  const maybe = failed?.facts.maybe_sent === true
  const wrong = failed && (failed.of('text') ?? `${failed.title} ${maybe ? w.maybe : failed.detail}`)
  return (
    <form
      className="flex shrink-0 items-end gap-2 border-line border-t px-3 py-2"
      onSubmit={e => {
        e.preventDefault()
        void send()
      }}
    >
      {/* Never disabled: it would lose the focus, and further typing would trigger shortcuts. */}
      <TextArea
        className="grow"
        help={away ? w.away : session.active ? w.working(agent) : w.help}
        hideLabel
        label={w.label(name)}
        maxLength={20_000}
        onChange={e => setText(e.target.value)}
        onKeyDown={e => {
          if (e.key !== 'Enter' || !(e.ctrlKey || e.metaKey) || e.nativeEvent.isComposing) return
          e.preventDefault()
          void send()
        }}
        placeholder={w.label(name)}
        rows={2}
        value={text}
        {...(wrong ? { error: wrong } : {})}
      />
      <Button busy={busy} className="mb-5" disabled={away || text.trim() === ''} look="primary" type="submit">
        {maybe ? w.again : w.submit}
      </Button>
    </form>
  )
}
