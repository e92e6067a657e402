export const welcome = {
  title: 'First steps',
  intro:
    'Connect your OpenClaw agents and schedule a daily standup in a few minutes. You can skip any step and come back to it later in Settings.',
  steps: {
    connect: 'Connect the gateway',
    doctor: 'Check the connection',
    found: 'Review the runtime',
    accounts: 'Create agent accounts',
    standup: 'Schedule daily standup',
    end: 'Summary',
  } as Record<string, string>,
  stepOf: (n: number, of: number) => `Step ${n} of ${of}`,
  stepNames: 'Steps',
  stepsWhat: 'the first steps',
  state: { done: 'Done', open: 'To do', waits: 'Waiting', unknown: 'Unknown' },
  why: {
    reading: 'Checking…',
    noGateway: 'No gateway configured',
    notThere: (state: string) => (state ? `Not connected: ${state.toLowerCase()}` : 'Not connected'),
    needsGateway: 'Needs the gateway',
    away: 'Gateway offline',
    notExamined: 'Not connected and not checked yet',
    unhealthy: 'The last check found a problem',
    noAgents: 'No agents in the runtime yet',
    missing: (n: number, of: number) => `${n} of ${of} agents ${n === 1 ? 'has' : 'have'} no account`,
    noJob: 'Not scheduled yet',
  },
  left: {
    label: 'First steps',
    count: (n: number) => (n === 1 ? '1 setup step left:' : `${n} setup steps left. Next:`),
    hide: 'Hide this reminder',
    hidden: 'Reminder hidden. You can still open First steps in Settings.',
  },
  back: 'Back',
  skip: 'Skip this step',
  next: 'Continue',
  toNow: 'Go to the Now page',
  leave: 'Skip setup, open Wardroom',
  away: 'This step opens once the gateway is connected.',
  connect: {
    text: 'Enter the address and token of OpenClaw’s gateway. The token is stored encrypted and never shown again.',
    waiting: 'This page updates as soon as the gateway connects.',
    scopes:
      'To create the daily standup job here, request this scope in Wardroom’s environment and restart Wardroom. You can remove it afterwards:',
  },
  doctor: {
    text: 'Checks each step of the connection, from DNS to gateway events. The first check that fails says what to do.',
  },
  found: {
    text: 'Found in the runtime:',
    what: 'the runtime’s contents',
    agents: (n: number) => (n === 1 ? '1 agent' : `${n} agents`),
    sessions: (n: number, more: boolean) => (n === 1 && !more ? '1 session' : `${n}${more ? ' or more' : ''} sessions`),
    jobs: (n: number, more: boolean) =>
      n === 1 && !more ? '1 scheduled job' : `${n}${more ? ' or more' : ''} scheduled jobs`,
    none: 'No agents in the runtime yet. Agents that you create there appear here automatically.',
    running: (n: number) => `${n} active`,
  },
  accounts: {
    text: 'Agents need an account to take part in standups and work on tasks.',
    choose: 'Create accounts for',
    create: (n: number) => (n === 1 ? 'Create 1 account' : `Create ${n} accounts`),
    failed: (name: string) => `Couldn’t create an account for ${name}:`,
    nobody: 'No agents in the runtime yet. Agents that you create there appear here automatically.',
    has: 'Has an account',
  },
  standup: {
    text: 'At this time your agents report, and you find a summary in Standups.',
    create: 'Schedule standup',
    there: 'Job created',
    nextRuns: 'Next run',
    never: 'The job is off.',
    address: 'Wardroom address',
    addressHelp:
      'For example, https://wardroom.example.com. Needed because the gateway is on another machine and PUBLIC_URL is not set.',
    key: (agent: string) =>
      `The job calls Wardroom as ${agent}, with an API key from the gateway’s environment. Create the key, add it there, and restart the gateway.`,
    keyName: 'Gateway',
    environment: 'Gateway environment',
    makeKey: 'Create key',
    noAccount: (agent: string) => `${agent} has no account yet. Go back one step and create it.`,
    scope: 'The gateway requires this scope to change jobs. Add it to Wardroom’s settings and restart Wardroom:',
  },
  end: {
    all: 'Setup is complete. The Now page shows your team’s status, what needs you, and the costs.',
    missing: (open: number, unknown: number) => {
      const left = open === 1 ? '1 step left' : `${open} steps left`
      return `${[...(open > 0 ? [left] : []), ...(unknown > 0 ? [`${unknown} unknown`] : [])].join(', ')}:`
    },
    goesOn: 'Tasks, the inbox, and accounts already work. Agent features become available when these steps are done.',
    noLimits: 'There are no limits yet, so nothing warns you when your agents spend more than usual.',
    later: 'You can reopen these steps from Settings, or from the Now page until they are done.',
  },
} as const
