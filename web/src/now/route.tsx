import { createRoute } from '@tanstack/react-router'
import { frameRoute } from '../app/roots'
import { placeNotBuilt } from '../frame/placeNotBuilt'

export const nowRoute = createRoute({ getParentRoute: () => frameRoute, path: '/', component: placeNotBuilt('now') })
