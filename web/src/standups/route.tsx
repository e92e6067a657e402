import { createRoute } from '@tanstack/react-router'
import { frameRoute } from '../app/roots'
import { placeNotBuilt } from '../frame/placeNotBuilt'

export const standupsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/standups',
  component: placeNotBuilt('standups'),
})
