import { useEffect, useRef, useState } from 'react'
import type { Problem } from '../api/problem'
import { leads, useMe } from '../app/queries'
import { draftOf, useDraft } from '../tasks/drafts'
import { sessions as sessionsWords } from '../texts/sessions'
import { Button } from '../ui/Button'
import { TextArea } from '../ui/Field'
import type { Outbox } from './outbox'

const words = sessionsWords
const w = words.send

interface Props {
  /** The session's key. The text is kept as a draft of it until it is sent. */
  of: string
  outbox: Outbox
  /** The agent's name. */
  agent: string | undefined
  /** Whether a run is in progress, which reads the message. */
  active: boolean
  away: boolean
  /** The time of the transcript's last message. */
  last: string | null
  focus: boolean
  onFocused: () => void
}

/** Writes messages to a session. The transcript shows each one at once. */
export function Composer({ of: key, outbox, agent, active, away, last, focus, onFocused }: Props) {
  const me = useMe().data
  const name = agent ?? w.agent
  const [text, setText] = useDraft('message', key)
  const [refused, setRefused] = useState<Problem | null>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const may = me !== undefined && leads(me)
  useEffect(() => {
    if (!focus || !may) return
    field.current?.focus()
    onFocused()
  }, [focus, may, onFocused])
  if (!me) return null
  if (!may) return <p className="shrink-0 border-line border-t px-3 py-2 text-soft">{words.mayNot(me.role)}</p>
  const send = async () => {
    const said = text.trim()
    if (said === '' || away) return
    setText('')
    setRefused(null)
    const problem = await outbox.send(said, me.name, last)
    if (!problem?.of('text')) return
    setRefused(problem)
    if (draftOf('message', key) === '') setText(said)
  }
  return (
    <form
      className="flex w-full max-w-page shrink-0 items-end gap-2 px-3 py-2"
      onSubmit={e => {
        e.preventDefault()
        void send()
      }}
    >
      {/* Never disabled: it would lose the focus, and further typing would trigger shortcuts. */}
      <TextArea
        className="grow"
        help={
          away ? (
            w.away
          ) : active ? (
            w.working(agent)
          ) : (
            <>
              <span className="pointer-coarse:hidden">{w.keys}</span>
              {w.help}
            </>
          )
        }
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
        ref={field}
        rows={2}
        data-composer=""
        value={text}
        {...(refused ? { error: refused.of('text') } : {})}
      />
      <Button className="mb-5" disabled={away || text.trim() === ''} look="primary" type="submit">
        {w.submit}
      </Button>
    </form>
  )
}
