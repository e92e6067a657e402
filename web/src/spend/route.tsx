import { createRoute } from '@tanstack/react-router'
import { frameRoute } from '../app/roots'
import { placeNotBuilt } from '../frame/placeNotBuilt'

export const spendRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/spend',
  component: placeNotBuilt('spend'),
})
