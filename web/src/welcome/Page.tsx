import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { useTitle } from '../app/title'
import { ForLeads } from '../settings/Bits'
import { FirstLimits } from '../spend/FirstLimits'
import { limitsQuery } from '../spend/limitQueries'
import { texts } from '../texts'
import { welcome as words } from '../texts/welcome'
import { Button, buttonClass } from '../ui/Button'
import type { IconName } from '../ui/Icon'
import { State, type Tone } from '../ui/State'
import { Skeleton } from '../ui/Views'
import { Accounts } from './Accounts'
import { CheckConnection } from './CheckConnection'
import { Connect } from './Connect'
import { NotConnected } from './NotConnected'
import { RuntimeContents } from './RuntimeContents'
import { Standup } from './Standup'
import {
  beside,
  doneSteps,
  firstOpen,
  type Known,
  lacksGateway,
  type Standing,
  type Step,
  standing,
  steps,
  tasks,
} from './steps'
import { useStepFacts } from './useStepFacts'

const welcomeRoute = getRouteApi('/frame/welcome')

/** The First steps wizard. */
export function WelcomePage() {
  useTitle(words.title)
  return (
    <div className="max-w-page px-3 pt-4 pb-12">
      <h2 className="sr-only">{words.title}</h2>
      <p className="mb-4 max-w-2xl text-soft">{words.intro}</p>
      <ForLeads>
        <Wizard />
      </ForLeads>
    </div>
  )
}

function Wizard() {
  const known = useStepFacts()
  const done = doneSteps(known)
  const { step } = welcomeRoute.useSearch()
  const navigate = useNavigate({ from: '/welcome' })
  const start = known.settled ? firstOpen(done) : undefined
  useEffect(() => {
    // Only once, so that completing a step doesn't change the page while the user reads it.
    if (!step && start) void navigate({ search: { step: start }, replace: true })
  }, [step, start, navigate])
  if (!step) return <Skeleton label={`${texts.ui.loading} ${words.stepsWhat}`} rows={4} />
  return (
    <div className="flex flex-col gap-4 md:flex-row">
      <List at={step} known={known} />
      <Pane done={done} known={known} step={step} />
    </div>
  )
}

const looks: Record<Standing['is'], { tone: Tone; icon: IconName }> = {
  done: { tone: 'active', icon: 'check' },
  open: { tone: 'attention', icon: 'clock' },
  waits: { tone: 'idle', icon: 'dependency' },
  unknown: { tone: 'idle', icon: 'off' },
}

/** The status of a step. */
function Mark({ of }: { of: Standing }) {
  return (
    <State icon={looks[of.is].icon} tone={looks[of.is].tone}>
      {words.state[of.is]}
    </State>
  )
}

function List({ at, known }: { at: Step; known: Known }) {
  return (
    <nav aria-label={words.stepNames} className="shrink-0 max-md:hidden md:w-80">
      <ol className="flex flex-col gap-0.5">
        {steps.map((s, i) => (
          <li key={s}>
            <Link
              aria-current={s === at ? 'step' : undefined}
              className={`flex min-h-8 items-center gap-2 rounded-md px-2 ${s === at ? 'bg-accent-tint font-medium text-accent' : 'text-soft hover:bg-hover hover:text-ink'}`}
              search={{ step: s }}
              to="/welcome"
            >
              <span className="w-4 shrink-0 text-center">{i + 1}</span>
              <span className="min-w-0 grow">{words.steps[s]}</span>
              {s !== 'end' && (
                <span className="shrink-0 font-normal text-xs">
                  <Mark of={standing(s, known)} />
                </span>
              )}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  )
}

const bodies: Record<Exclude<Step, 'end'>, (known: Known) => ReactNode> = {
  connect: known => <Connect gateway={known.gateway} />,
  doctor: known => <CheckConnection gateway={known.gateway} />,
  found: known => <RuntimeContents agents={known.gateway && known.agents} />,
  accounts: known => <Accounts known={known} />,
  standup: known => <Standup known={known} />,
}

function Pane({ step, known, done }: { step: Step; known: Known; done: ReadonlySet<Step> }) {
  const navigate = useNavigate({ from: '/welcome' })
  const heading = useRef<HTMLHeadingElement>(null)
  const shown = useRef(step)
  useEffect(() => {
    // Moves the focus to the new step, for keyboard and screen reader users.
    if (shown.current !== step) heading.current?.focus()
    shown.current = step
  }, [step])
  const before = beside(step, -1, known)
  const after = beside(step, 1, known)
  const go = (to: Step) => void navigate({ search: { step: to } })
  return (
    <section aria-label={words.steps[step]} className="hairline flex min-w-0 grow flex-col gap-4 rounded-md p-4">
      <div>
        <div className="mb-1 md:hidden">
          <div aria-hidden="true" className="mb-2 flex gap-1">
            {steps.map((s, i) => (
              <span key={s} className={`h-1 grow rounded-sm ${i <= steps.indexOf(step) ? 'bg-accent' : 'bg-hover'}`} />
            ))}
          </div>
          <p className="text-soft text-xs">{words.stepOf(steps.indexOf(step) + 1, steps.length)}</p>
        </div>
        <h3 className="font-semibold text-base outline-none" ref={heading} tabIndex={-1}>
          {words.steps[step]}
        </h3>
      </div>
      {step === 'end' ? (
        <End known={known} />
      ) : (
        <>
          <Stands of={standing(step, known)} />
          {lacksGateway(step, known) ? <NotConnected /> : bodies[step](known)}
        </>
      )}
      <div className="flex flex-wrap gap-2 border-line border-t pt-3">
        {before && (
          <Button icon="left" onClick={() => go(before)}>
            {words.back}
          </Button>
        )}
        <span className="grow" />
        {after && (
          <Link className={buttonClass('quiet')} to="/">
            {words.leave}
          </Link>
        )}
        {after ? (
          <Button look={done.has(step) ? 'primary' : 'plain'} onClick={() => go(after)}>
            {done.has(step) ? words.next : words.skip}
          </Button>
        ) : (
          <Link className={buttonClass('primary')} to="/">
            {words.toNow}
          </Link>
        )}
      </div>
    </section>
  )
}

/** The status of a step, and why it isn't done. */
function Stands({ of }: { of: Standing }) {
  return (
    <p aria-live="polite" className="flex flex-wrap items-center gap-x-2" data-standing={of.is}>
      <Mark of={of} />
      {of.why && <bdi className="wrap-anywhere min-w-0 text-soft">{of.why}</bdi>}
    </p>
  )
}

/** The summary of all steps. */
function End({ known }: { known: Known }) {
  const limits = useQuery(limitsQuery).data?.limits
  const all = tasks.map(s => ({ step: s, of: standing(s, known) }))
  const unknown = all.filter(s => s.of.is === 'unknown').length
  const open = all.filter(s => s.of.is !== 'done').length - unknown
  return (
    <>
      <p>{open + unknown === 0 ? words.end.all : words.end.missing(open, unknown)}</p>
      <ul className="divide-y divide-line">
        {all.map(({ step, of }) => (
          <li className="flex flex-wrap items-start gap-x-3 gap-y-0.5 py-1.5" data-standing={of.is} key={step}>
            <span className="flex h-5 w-24 shrink-0 items-center">
              <Mark of={of} />
            </span>
            <span className="min-w-0 grow basis-52">
              {of.is === 'done' ? (
                words.steps[step]
              ) : (
                <Link className="text-accent underline" search={{ step }} to="/welcome">
                  {words.steps[step]}
                </Link>
              )}
              {of.why && <bdi className="wrap-anywhere block text-soft">{of.why}</bdi>}
            </span>
          </li>
        ))}
      </ul>
      {open + unknown > 0 && <p>{words.end.goesOn}</p>}
      {limits?.length === 0 && (
        <>
          <p>{words.end.noLimits}</p>
          <FirstLimits />
        </>
      )}
      <p className="text-soft">{words.end.later}</p>
    </>
  )
}
