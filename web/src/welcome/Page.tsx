import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { useTitle } from '../app/title'
import { ForLeads } from '../settings/Bits'
import { texts } from '../texts'
import { welcome as words } from '../texts/welcome'
import { Button, buttonClass } from '../ui/Button'
import { Icon } from '../ui/Icon'
import { Skeleton } from '../ui/Views'
import { Accounts } from './Accounts'
import { Connect } from './Connect'
import { Examine } from './Examine'
import { Found } from './Found'
import { welcomeRoute } from './route'
import { Standup } from './Standup'
import { beside, doneSteps, firstOpen, type Known, type Step, steps } from './steps'
import { useKnown } from './useKnown'

/** From an empty service to a team that reports each morning, step by step. */
export function WelcomePage() {
  useTitle(words.title)
  return (
    <div className="mx-auto max-w-4xl px-3 pt-4 pb-12 md:px-5">
      <h2 className="font-semibold text-lg">{words.title}</h2>
      <p className="mb-4 max-w-2xl text-soft">{words.intro}</p>
      <ForLeads>
        <Wizard />
      </ForLeads>
    </div>
  )
}

function Wizard() {
  const known = useKnown()
  const done = doneSteps(known)
  const { step } = welcomeRoute.useSearch()
  const navigate = useNavigate({ from: '/welcome' })
  const start = known.settled ? firstOpen(done) : undefined
  useEffect(() => {
    // Once, so that what becomes done while one reads does not take the page away.
    if (!step && start) void navigate({ search: { step: start }, replace: true })
  }, [step, start, navigate])
  if (!step) return <Skeleton label={`${texts.ui.reading} ${words.stepNames}`} rows={4} />
  return (
    <div className="flex flex-col gap-4 md:flex-row">
      <List at={step} done={done} />
      <Pane done={done} known={known} step={step} />
    </div>
  )
}

function List({ at, done }: { at: Step; done: ReadonlySet<Step> }) {
  return (
    <nav aria-label={words.stepNames} className="shrink-0 md:w-60">
      <ol className="flex flex-col gap-0.5">
        {steps.map((s, i) => (
          <li key={s}>
            <Link
              aria-current={s === at ? 'step' : undefined}
              className={`flex min-h-8 items-center gap-2 rounded-md px-2 ${s === at ? 'bg-accent-tint font-medium text-accent' : 'text-soft hover:bg-hover hover:text-ink'}`}
              search={{ step: s }}
              to="/welcome"
            >
              <span className="flex w-4 justify-center">
                {done.has(s) ? <Icon className="text-active" name="check" /> : i + 1}
              </span>
              {words.steps[s]}
              {s !== 'end' && <span className="sr-only">({done.has(s) ? words.done : words.open})</span>}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  )
}

const bodies: Record<Exclude<Step, 'end'>, (known: Known) => ReactNode> = {
  connect: known => <Connect gateway={known.gateway} />,
  doctor: known => <Examine gateway={known.gateway} />,
  found: known => <Found agents={known.agents} gateway={known.gateway} />,
  accounts: known => <Accounts agents={known.agents} />,
  standup: known => <Standup known={known} />,
}

function Pane({ step, known, done }: { step: Step; known: Known; done: ReadonlySet<Step> }) {
  const navigate = useNavigate({ from: '/welcome' })
  const heading = useRef<HTMLHeadingElement>(null)
  const shown = useRef(step)
  useEffect(() => {
    // Who goes on by keyboard or with a screen reader begins at the new step.
    if (shown.current !== step) heading.current?.focus()
    shown.current = step
  }, [step])
  const before = beside(step, -1)
  const after = beside(step, 1)
  const go = (to: Step) => void navigate({ search: { step: to } })
  return (
    <section aria-label={words.steps[step]} className="hairline flex min-w-0 grow flex-col gap-4 rounded-md p-4">
      <h3 className="font-semibold text-base outline-none" ref={heading} tabIndex={-1}>
        {words.steps[step]}
      </h3>
      {step === 'end' ? <End done={done} /> : bodies[step](known)}
      <div className="flex flex-wrap gap-2 border-line border-t pt-3">
        {before && (
          <Button icon="left" onClick={() => go(before)}>
            {words.back}
          </Button>
        )}
        <span className="grow" />
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

function End({ done }: { done: ReadonlySet<Step> }) {
  const open = steps.filter(s => s !== 'end' && !done.has(s))
  return (
    <>
      <p>{words.end.text}</p>
      {open.length > 0 && (
        <div>
          <p className="mb-1 text-soft">{words.end.missing}</p>
          <ul className="list-disc pl-5">
            {open.map(s => (
              <li key={s}>
                <Link className="text-accent underline" search={{ step: s }} to="/welcome">
                  {words.steps[s]}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}
