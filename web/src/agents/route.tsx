import { createRoute } from '@tanstack/react-router'
import { frameRoute } from '../app/roots'
import { placeNotBuilt } from '../frame/placeNotBuilt'

export const agentsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/agents',
  component: placeNotBuilt('agents'),
})
