import { createRoute } from '@tanstack/react-router'
import { frameRoute } from '../app/roots'
import { placeNotBuilt } from '../frame/placeNotBuilt'

export const sessionsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/sessions',
  component: placeNotBuilt('sessions'),
})
