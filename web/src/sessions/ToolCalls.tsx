import type { ReactNode } from 'react'
import type { Schemas } from '../api/client'
import { sessions as sessionsWords } from '../texts/sessions'
import { Icon } from '../ui/Icon'
import { masked } from '../ui/Redacted'
import { State } from '../ui/State'
import type { Step } from './steps'

const w = sessionsWords.step

type Call = Schemas['TranscriptToolCall']

interface Props {
  step: Step
  isOpen: ReadonlySet<string>
  onToggle: (id: string) => void
}

/** The tool calls of a step. A single call is expanded. */
export function ToolCalls({ step, isOpen, onToggle }: Props) {
  const [only] = step.calls
  if (only && step.calls.length === 1) {
    return (
      <>
        <p className="key mb-1">
          <bdi>{only.name}</bdi>
        </p>
        <Details of={only} />
      </>
    )
  }
  return (
    <ol>
      {step.calls.map((call, i) => {
        const id = `${step.id}/${i}`
        const open = isOpen.has(id)
        return (
          <li key={id}>
            <button
              aria-expanded={open}
              className="flex min-h-7 w-full min-w-0 items-center gap-1.5 text-left hover:underline"
              onClick={() => onToggle(id)}
              type="button"
            >
              <Icon className="text-soft" name={open ? 'chevron' : 'right'} />
              <bdi className="key shrink-0">{call.name.slice(0, 80)}</bdi>
              <bdi className="truncate text-soft text-xs">{brief(call)}</bdi>
              {isFailed(call) && <State tone="danger">{w.failed}</State>}
            </button>
            {open && (
              <div className="mb-2 ml-5">
                <Details of={call} />
              </div>
            )}
          </li>
        )
      })}
    </ol>
  )
}

/** Says how much of a text was omitted. */
export function Cut({ n }: { n: number }) {
  return n > 0 ? <p className="mt-1 text-attention text-xs">{w.cut(n)}</p> : null
}

const isFailed = (c: Call): boolean => c.is_error || c.status === 'failed'

/** Returns the arguments as an object if they are valid JSON that parsing doesn't alter. */
function argumentsOf(c: Call): Record<string, unknown> | null {
  // Parsing would round numbers with this many digits.
  if (c.arguments === null || c.arguments_cut > 0 || /\d{16}/.test(c.arguments)) return null
  try {
    const v: unknown = JSON.parse(c.arguments)
    return typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : null
  } catch {
    return null
  }
}

const written = (v: unknown): string => (typeof v === 'string' ? v : (JSON.stringify(v, null, 2) ?? ''))

/** Returns the first argument on one line. */
function brief(c: Call): string {
  const all = argumentsOf(c)
  const first = all ? Object.values(all)[0] : c.arguments
  return written(first ?? '')
    .slice(0, 160)
    .replace(/\s+/g, ' ')
}

function Details({ of: c }: { of: Call }) {
  const all = argumentsOf(c)
  return (
    <div className="flex flex-col gap-2">
      <Part label={w.arguments}>
        {all === null ? (
          <Raw label={w.arguments} text={c.arguments ?? ''} />
        ) : Object.keys(all).length === 0 ? (
          <p className="text-soft text-xs">{w.noArguments}</p>
        ) : (
          <Raw
            label={w.arguments}
            text={Object.entries(all)
              .map(([name, v]) => `${name}: ${written(v)}`)
              .join('\n')}
          />
        )}
        <Cut n={c.arguments_cut} />
      </Part>
      <Part failed={isFailed(c)} label={w.result}>
        {c.result === null ? (
          <p className="text-soft text-xs">{c.status === 'pending' ? w.pending : w.noResult}</p>
        ) : (
          <Raw label={w.result} text={c.result} />
        )}
        <Cut n={c.result_cut} />
      </Part>
    </div>
  )
}

function Part({ label, failed = false, children }: { label: string; failed?: boolean; children: ReactNode }) {
  return (
    <div>
      <p className="flex items-center gap-2 text-soft text-xs">
        {label}
        {failed && <State tone="danger">{w.failed}</State>}
      </p>
      {children}
    </div>
  )
}

/** A tool's arguments or result as plain text. */
function Raw({ text, label }: { text: string; label: string }) {
  if (text === '') return <p className="text-soft text-xs">{w.noResult}</p>
  return (
    <section
      aria-label={label}
      className="hairline wrap-anywhere max-h-96 overflow-y-auto whitespace-pre-wrap rounded-md bg-panel px-2 py-1.5 font-mono text-xs"
      dir="auto"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable, so it must be focusable
      tabIndex={0}
    >
      {masked(text)}
    </section>
  )
}
