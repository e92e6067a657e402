import { Link } from '@tanstack/react-router'
import { welcome } from '../texts/welcome'

/** Shown in steps that need the gateway, while it isn't connected. */
export const NotConnected = () => (
  <p>
    {welcome.found.away}{' '}
    <Link className="text-accent underline" search={{ step: 'connect' }} to="/welcome">
      {welcome.accounts.toConnect}
    </Link>
  </p>
)
