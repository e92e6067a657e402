import { Link } from '@tanstack/react-router'
import { welcome } from '../texts/welcome'
import { buttonClass } from '../ui/Button'

/** Shown in steps that need the gateway, while it isn't connected. */
export const NotConnected = () => (
  <>
    <p>{welcome.away}</p>
    <div>
      <Link className={buttonClass('primary')} search={{ step: 'connect' }} to="/welcome">
        {welcome.steps.connect}
      </Link>
    </div>
  </>
)
