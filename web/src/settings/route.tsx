import { createRoute } from '@tanstack/react-router'
import { frameRoute } from '../app/roots'
import { placeNotBuilt } from '../frame/placeNotBuilt'

export const settingsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/settings',
  component: placeNotBuilt('settings'),
})
