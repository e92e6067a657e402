import { Link } from '@tanstack/react-router'
import { welcome } from '../texts/welcome'

/** What a step waits for while there is no connection, and the way to that. Why stands above, in the step's state. */
export const Away = () => (
  <p>
    {welcome.found.away}{' '}
    <Link className="text-accent underline" search={{ step: 'connect' }} to="/welcome">
      {welcome.accounts.toConnect}
    </Link>
  </p>
)
