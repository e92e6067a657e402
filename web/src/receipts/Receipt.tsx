import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useId, useState } from 'react'
import type { Schemas } from '../api/client'
import { grouped, money } from '../app/format'
import { receipts as words } from '../texts/receipts'
import { Age } from '../ui/Age'
import { Icon } from '../ui/Icon'
import { type Look, State } from '../ui/State'
import { sessionHref, TextLink } from '../ui/TextLink'
import { receiptQuery } from './queries'

type Receipt = Schemas['Receipt']
type Seen = Schemas['ReceiptSeen']

const looks: Record<Receipt['grade'], Look> = {
  not_gradable: { tone: 'idle', icon: 'off' },
  none: { tone: 'danger', icon: 'error' },
  claimed: { tone: 'attention', icon: 'comment' },
  self_checked: { tone: 'done', icon: 'check' },
  checked: { tone: 'done', icon: 'checks' },
  approved: { tone: 'done', icon: 'user' },
}

const checkLooks: Record<Receipt['checks'][number]['status'], Look> = {
  passed: { tone: 'done', icon: 'check' },
  failed: { tone: 'danger', icon: 'error' },
  unclear: { tone: 'attention', icon: 'warning' },
  not_run: { tone: 'attention', icon: 'off' },
}

/** A grade as icon, word, and color. */
export function GradeMark({ of }: { of: Receipt['grade'] }) {
  return (
    <State {...looks[of]} title={words.gradeHelp[of]}>
      {words.grade[of]}
    </State>
  )
}

/** The receipt of a task: a line with its grade and its gaps, which unfolds. Nothing if there is none. */
export function ReceiptOf({ task }: { task: string }) {
  const receipt = useQuery(receiptQuery(task)).data
  return receipt ? <ReceiptView receipt={receipt} /> : null
}

/** A receipt. */
export function ReceiptView({ receipt: r }: { receipt: Receipt }) {
  const id = useId()
  const [open, setOpen] = useState(false)
  const waits = r.pending && r.evidence === 'not_gradable'
  const sentBack = r.earlier.filter(e => e.verdict?.kind === 'sent_back').length
  return (
    <section aria-label={words.title} className="rounded-md border border-line px-3 py-2">
      <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <span className="text-soft text-xs" title={words.help}>
          {words.title}
        </span>
        {waits ? (
          <State icon="clock" tone="idle">
            {words.pending}
          </State>
        ) : (
          <GradeMark of={r.evidence} />
        )}
        {!waits && r.gaps.length === 0 && r.seen && (
          <span className="text-soft">
            {r.evidence === 'checked' || r.evidence === 'self_checked' ? words.noGaps : words.gradeHelp[r.evidence]}
          </span>
        )}
        {r.verdict && <VerdictText of={r.verdict} />}
        {sentBack > 0 && <span className="text-soft">{words.sentBackBefore(sentBack)}</span>}
        {(r.seen || r.checks.length > 0) && (
          <button
            aria-controls={id}
            aria-expanded={open}
            aria-label={open ? words.hide : words.show}
            className="-my-1 ml-auto inline-flex h-8 items-center self-center rounded-md px-2 text-soft hover:bg-hover hover:text-ink pointer-coarse:h-10"
            onClick={() => setOpen(!open)}
            title={open ? words.hide : words.show}
            type="button"
          >
            <Icon className={open ? 'rotate-180' : ''} name="chevron" />
          </button>
        )}
      </div>
      <Gaps of={r.gaps} />
      <div className="mt-2 flex flex-col gap-3 border-line border-t pt-2" hidden={!open} id={id}>
        {open && <Recorded receipt={r} />}
      </div>
    </section>
  )
}

function VerdictText({ of }: { of: NonNullable<Receipt['verdict']> }) {
  const approved = of.kind === 'approved'
  return (
    <State icon={approved ? 'user' : 'left'} tone={approved ? 'done' : 'attention'}>
      <bdi>{approved ? words.approvedBy(of.by) : words.sentBackBy(of.by)}</bdi>
    </State>
  )
}

/** The gaps of a receipt, one sentence each. */
export function Gaps({ of }: { of: readonly { text: string }[] }) {
  return (
    <ul className="mt-1 flex flex-col gap-0.5 empty:hidden">
      {of.map(g => (
        <li key={g.text} className="flex items-baseline gap-1.5">
          <Icon className="size-3.5 shrink-0 self-center text-attention" name="warning" />
          <Code className="wrap-anywhere min-w-0" text={g.text} />
        </li>
      ))}
    </ul>
  )
}

/** A sentence in which commands are between backticks. */
function Code({ text, className }: { text: string; className: string }) {
  return (
    <bdi className={className}>
      {text.split('`').map((part, i) =>
        i % 2 === 1 ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of one sentence, which can repeat
          <code key={i} className="key">
            {part}
          </code>
        ) : (
          part
        ),
      )}
    </bdi>
  )
}

function Recorded({ receipt: r }: { receipt: Receipt }) {
  return (
    <>
      {r.seen && <Totals seen={r.seen} />}
      <Titled title={words.checks}>
        {r.checks.length === 0 && <p className="text-soft">{words.noChecks}</p>}
        <ul className="flex flex-col gap-1 empty:hidden">
          {r.checks.map(c => (
            <li key={`${c.command} ${c.named}`} className="flex flex-wrap items-baseline gap-x-2">
              <State {...checkLooks[c.status]} title={words.checkHelp[c.status]}>
                {words.check[c.status]}
              </State>
              <bdi className="key wrap-anywhere min-w-0 whitespace-normal">{c.command}</bdi>
              <span className="text-soft text-xs">
                {[c.named && words.named, c.at !== null && !c.fresh && words.old].filter(Boolean).join(' · ')}
              </span>
            </li>
          ))}
        </ul>
      </Titled>
      {r.seen && <SeenLists seen={r.seen} />}
      {r.claimed.admitted.length > 0 && (
        <Titled title={words.admitted}>
          <ul className="flex flex-col gap-0.5">
            {r.claimed.admitted.map(s => (
              <li key={s}>
                <Code className="wrap-anywhere" text={s} />
              </li>
            ))}
          </ul>
        </Titled>
      )}
      {r.earlier.length > 0 && (
        <Titled title={words.earlier}>
          <ul className="flex flex-col gap-2">
            {r.earlier.map(e => (
              <li key={e.id}>
                <p className="flex flex-wrap items-baseline gap-x-3">
                  <GradeMark of={e.grade} />
                  {e.verdict && <VerdictText of={e.verdict} />}
                  <Age at={e.reported_at} className="text-soft text-xs" say="ago" />
                </p>
                <Gaps of={e.gaps} />
              </li>
            ))}
          </ul>
        </Titled>
      )}
    </>
  )
}

/** How much the agent did: runs, calls, time, and cost. */
function Totals({ seen: s }: { seen: Seen }) {
  const parts = [
    words.runs(s.runs),
    words.calls(s.calls),
    s.failed_calls > 0 && words.failed(s.failed_calls),
    words.minutes(Math.round(s.seconds / 60)),
    s.cost_usd !== null && (s.cost_complete ? money(s.cost_usd) : words.verdicts.atLeast(money(s.cost_usd))),
  ].filter(Boolean)
  return (
    <p className="flex flex-wrap gap-x-3 text-soft">
      {parts.join(' · ')}
      {s.sessions[0] && <TextLink href={sessionHref(s.sessions[0])}>{words.transcript}</TextLink>}
    </p>
  )
}

function SeenLists({ seen: s }: { seen: Seen }) {
  return (
    <>
      <Titled title={words.files}>
        {s.files.length === 0 && <p className="text-soft">{words.noFiles}</p>}
        <ul className="flex flex-col gap-0.5 empty:hidden">
          {s.files.map(f => (
            <li key={f.path} className="flex items-baseline gap-2">
              <bdi className="key wrap-anywhere min-w-0 whitespace-normal">{f.path}</bdi>
              {f.added !== null && <span className="shrink-0 text-active text-xs">+{grouped(f.added)}</span>}
              {f.removed !== null && <span className="shrink-0 text-danger text-xs">−{grouped(f.removed)}</span>}
            </li>
          ))}
        </ul>
        {s.files_omitted > 0 && <p className="text-soft text-xs">{words.moreFiles(s.files_omitted)}</p>}
      </Titled>
      {s.commands.length > 0 && (
        <Titled title={words.commands}>
          <ol className="flex flex-col gap-0.5">
            {s.commands.map((c, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change, and commands repeat
              <li key={i} className="flex items-baseline gap-2">
                <bdi className="key wrap-anywhere min-w-0 whitespace-normal">{c.text}</bdi>
                {c.exit_code !== null && (
                  <span className={`shrink-0 text-xs ${c.exit_code === 0 ? 'text-soft' : 'text-danger'}`}>
                    {words.exit(c.exit_code)}
                  </span>
                )}
              </li>
            ))}
          </ol>
        </Titled>
      )}
      {s.artifacts.length > 0 && (
        <Titled title={words.artifacts}>
          <bdi className="wrap-anywhere">{s.artifacts.join(', ')}</bdi>
        </Titled>
      )}
      {s.pr && (
        <Titled title={s.pr.seen ? words.prSeen : words.prSaid}>
          <bdi className="key wrap-anywhere">{s.pr.url}</bdi>
        </Titled>
      )}
    </>
  )
}

const Titled = ({ title, children }: { title: string; children: ReactNode }) => (
  <section aria-label={title}>
    <h4 className="mb-1 text-soft text-xs">{title}</h4>
    {children}
  </section>
)
