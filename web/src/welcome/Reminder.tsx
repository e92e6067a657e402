import { Link } from '@tanstack/react-router'
import { setView, useView } from '../app/view'
import { welcome } from '../texts/welcome'
import { IconButton } from '../ui/Button'
import { Icon } from '../ui/Icon'
import { say } from '../ui/toast'
import { stepsLeft } from './steps'
import { useStepFacts } from './useStepFacts'

const words = welcome.left

/** A reminder on the Now page about unfinished first steps, until the user hides it. */
export function Reminder() {
  // When hidden, its queries don't run either.
  return useView().firstSteps ? <Line /> : null
}

function Line() {
  const known = useStepFacts()
  const left = known.settled ? stepsLeft(known) : []
  const next = left[0]
  if (!next) return null
  return (
    <aside
      aria-label={words.label}
      className="flex items-center gap-x-3 border-line border-b bg-panel px-3 py-1 text-soft md:px-4"
    >
      <Icon name="clock" />
      <p className="min-w-0 grow">
        {words.count(left.length)}{' '}
        <Link className="text-accent underline" search={{ step: next }} to="/welcome">
          {welcome.steps[next]}
        </Link>
      </p>
      <IconButton
        icon="close"
        label={words.hide}
        onClick={() => {
          setView({ firstSteps: false })
          say(words.hidden)
        }}
      />
    </aside>
  )
}
