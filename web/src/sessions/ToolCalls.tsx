import { type ReactNode, useContext, useState } from 'react'
import { Problem } from '../api/problem'
import { span } from '../app/format'
import { sessions as sessionsWords } from '../texts/sessions'
import { Button, IconButton } from '../ui/Button'
import { Icon } from '../ui/Icon'
import { masked } from '../ui/Redacted'
import { State } from '../ui/State'
import { say, sayFailed } from '../ui/toast'
import { copyText } from './copy'
import { argumentsOf, argumentsText, written } from './find'
import { type Call, cannotAsk, isFailed, type Step, tookOf } from './steps'
import { FindText } from './useFind'

const w = sessionsWords.step
/** A longer result shows only its first lines. */
const mostLines = 12

interface Props {
  step: Step
  isOpen: ReadonlySet<string>
  onToggle: (id: string) => void
}

/** The tool calls of a step: what was called, whether it succeeded, and how long it took. */
export function ToolCalls({ step, isOpen, onToggle }: Props) {
  return (
    <ol>
      {step.calls.map((call, i) => {
        const id = `${step.id}/${i}`
        const open = isOpen.has(id)
        return (
          <li key={id}>
            <button
              aria-expanded={open}
              className="group flex min-h-7 w-full min-w-0 items-center gap-2 text-left pointer-coarse:min-h-10"
              onClick={() => onToggle(id)}
              type="button"
            >
              <Icon className="text-soft" name={open ? 'chevron' : 'right'} />
              <bdi className="key shrink-0 font-medium">{call.name.slice(0, 80)}</bdi>
              <bdi className="key min-w-0 truncate text-soft group-hover:underline">{brief(call)}</bdi>
              <span className="ml-auto flex shrink-0 items-center gap-2 text-xs">
                <Outcome of={call} />
              </span>
            </button>
            {open && (
              <div className="mb-2 ml-6">
                <Details of={call} place={i} />
              </div>
            )}
          </li>
        )
      })}
    </ol>
  )
}

/** Whether a call succeeded, and how long it took. */
function Outcome({ of: c }: { of: Call }) {
  const took = tookOf(c)
  return (
    <>
      {took !== null && <span className="text-soft tabular-nums">{took < 1000 ? w.underSecond : span(took)}</span>}
      {isFailed(c) ? (
        <State tone="danger">{w.failed}</State>
      ) : c.status === 'pending' ? (
        <State icon="clock" tone="idle">
          {w.pending}
        </State>
      ) : (
        <State tone="done">{w.ok}</State>
      )}
    </>
  )
}

/** Says how much of a text was omitted. */
export function Cut({ n }: { n: number }) {
  return n > 0 ? <p className="mt-1 text-attention text-xs">{w.cut(n)}</p> : null
}

/** Returns the first argument on one line. */
function brief(c: Call): string {
  const all = argumentsOf(c)
  const first = all ? (all.command ?? all.path ?? Object.values(all)[0]) : c.arguments
  return written(first ?? '')
    .slice(0, 160)
    .replace(/\s+/g, ' ')
}

function Details({ of: c, place }: { of: Call; place: number }) {
  return (
    <div className="flex flex-col gap-2">
      <Part label={w.arguments}>
        <Raw label={w.arguments} none={w.noArguments} place={place} text={argumentsText(c)} />
        <Cut n={c.arguments_cut} />
      </Part>
      <Part label={w.result}>
        {c.result === null ? (
          <p className="text-soft text-xs">{c.status === 'pending' ? w.noResultYet : w.noResult}</p>
        ) : (
          <Raw label={w.result} none={w.noResult} place={place} text={c.result} />
        )}
        <Cut n={c.result_cut} />
      </Part>
      {cannotAsk(c) && <p className="text-attention">{w.cannotAsk}</p>}
    </div>
  )
}

const Part = ({ label, children }: { label: string; children: ReactNode }) => (
  <div>
    <p className="text-soft text-xs">{label}</p>
    {children}
  </div>
)

/** A tool's arguments or result as plain text, with a copy button. A long text is shortened. */
function Raw({ text, label, none, place }: { text: string; label: string; none: string; place: number }) {
  const [all, setAll] = useState(false)
  const wanted = useContext(FindText)
  if (text === '') return <p className="text-soft text-xs">{none}</p>
  const lines = text.split('\n')
  const short = !all && lines.length > mostLines + 2 && !(wanted && text.toLowerCase().includes(wanted))
  const copy = async () => {
    if (await copyText(text)) say(w.copied(label))
    else sayFailed(new Problem({ code: 'not_copied', title: sessionsWords.transcript.notCopied }))
  }
  return (
    <div aria-label={label} className="hairline relative rounded-md bg-panel" dir="auto" role="group">
      <IconButton
        className="absolute! top-0.5 right-0.5 h-7! min-w-7! bg-panel"
        icon="copy"
        label={w.copy(label)}
        onClick={() => void copy()}
      />
      <p className="wrap-anywhere min-h-8 whitespace-pre-wrap py-1.5 pr-9 pl-2 font-mono text-xs" data-find={place}>
        {masked(short ? lines.slice(0, mostLines).join('\n') : text)}
      </p>
      {short && (
        <Button className="mb-1 ml-0.5" icon="down" look="quiet" onClick={() => setAll(true)}>
          {w.showLines(lines.length)}
        </Button>
      )}
    </div>
  )
}
