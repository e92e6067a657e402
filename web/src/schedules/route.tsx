import { createRoute } from '@tanstack/react-router'
import { frameRoute } from '../app/roots'
import { placeNotBuilt } from '../frame/placeNotBuilt'

export const schedulesRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/schedules',
  component: placeNotBuilt('schedules'),
})
