import { expect, it } from 'vitest'
import { gatewayLacks } from './gatewayLacks'

const [offline, scopes] = ['Gateway offline', 'Gateway scopes missing']

it.each([
  ['connected', [], null, null, null],
  ['connecting', [], null, null, null],
  ['slow', [], null, null, null],
  ['not_configured', [], 'No gateway', 'No gateway', 'No gateway'],
  ['unreachable', [], offline, offline, null],
  ['missing_scopes', ['operator.admin'], null, scopes, null],
  ['missing_scopes', ['operator.write'], scopes, scopes, null],
] as const)('a gateway that is %s and lacks %j', (state, missing, runs, jobs, ever) =>
  expect(gatewayLacks({ state, scopes_missing: [...missing] })).toEqual({ runs, jobs, ever }),
)
