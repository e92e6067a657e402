import { createRoute } from '@tanstack/react-router'
import { frameRoute } from '../app/roots'
import { placeNotBuilt } from '../frame/placeNotBuilt'

export const inboxRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/inbox',
  component: placeNotBuilt('inbox'),
})
