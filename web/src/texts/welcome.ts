export const welcome = {
  title: 'First steps',
  intro:
    'A few minutes from an empty service to a team that reports each morning. Skip what you like: it stays here, under Settings, and nothing is lost when you reload.',
  steps: {
    connect: 'Connect the runtime',
    doctor: 'Examine the way there',
    found: 'See what was found',
    accounts: 'Accounts for the agents',
    standup: 'A standup every day',
    end: 'How it stands',
  } as Record<string, string>,
  stepNames: 'Steps',
  state: { done: 'Done', open: 'To do', unknown: 'Unknown' },
  why: {
    reading: 'It is being found out.',
    noGateway: 'No gateway is set up yet.',
    notThere: (state: string) => `A gateway is set, and there is no connection: ${state || 'nobody says why'}.`,
    away: 'The runtime cannot be asked while there is no connection to its gateway.',
    notExamined: 'There is no connection, and nobody has examined why yet.',
    unhealthy: 'The last examination found something.',
    noAgents: 'The runtime knows no agents yet.',
    missing: (n: number, of: number) => `${n} of ${of} agents ${n === 1 ? 'has' : 'have'} none.`,
    noJob: 'The runtime has no job that starts it.',
  },
  left: {
    label: 'First steps',
    count: (n: number) => (n === 1 ? '1 of the first steps is left:' : `${n} of the first steps are left, next:`),
    hide: 'Do not show this here again',
    hidden: 'The first steps stay under Settings.',
  },
  back: 'Back',
  skip: 'Skip this step',
  next: 'Continue',
  toNow: 'Open Now',
  connect: {
    text: 'The service keeps one connection to the gateway of your agents. It never gives the token to a browser, so these two are set where the service runs. Put them into the .env of the folder in which it was started, or into its environment, and restart it:',
    waiting: 'This page notices by itself when it is connected.',
    set: 'The settings are there.',
    scopes:
      'To have the runtime start the standup each day, also ask for this scope; you can leave it out again once the job is made:',
  },
  doctor: {
    text: 'From the name in the address to the events of the gateway: the first thing that does not work is named, with what to do.',
  },
  found: {
    text: 'This is what the runtime tells.',
    agents: (n: number) => (n === 1 ? '1 agent' : `${n} agents`),
    sessions: (n: number, more: boolean) => (n === 1 && !more ? '1 session' : `${n}${more ? ' or more' : ''} sessions`),
    jobs: (n: number, more: boolean) => (n === 1 && !more ? '1 timed job' : `${n}${more ? ' or more' : ''} timed jobs`),
    none: 'The runtime knows no agents yet. Make them there; they appear here by themselves.',
    away: 'This step opens by itself as soon as the runtime is there.',
    running: (n: number) => (n === 1 ? '1 at work' : `${n} at work`),
  },
  accounts: {
    text: 'An agent takes part in standups and works on tasks when it has an account here.',
    all: 'Every agent that the runtime knows has an account.',
    choose: 'Create accounts for',
    create: (n: number) => (n === 1 ? 'Create 1 account' : `Create ${n} accounts`),
    failed: (name: string) => `${name} got no account:`,
    nobody:
      'The runtime knows no agents yet, so there is nobody to make an account for. Make them there; they appear here by themselves.',
    away: 'Whether there are agents without an account cannot be found out: they come from the gateway, and there is no connection to it.',
    toConnect: 'Connect the runtime first',
    has: 'has an account',
  },
  standup: {
    text: 'The runtime starts the standup with a job of its own, at the same time each day.',
    time: 'At',
    days: 'On',
    weekdays: 'weekdays',
    everyDay: 'every day',
    zone: 'Time zone',
    create: 'Create the job',
    there: 'The job is there.',
    nextRuns: 'It runs next',
    never: 'It is switched off.',
    address: 'Where the agents reach this service',
    addressHelp:
      'Such as https://wardroom.example.com. It is not known here: the gateway is on another machine and PUBLIC_URL is not set.',
    key: (agent: string) =>
      `It calls this service as ${agent}, with a key from the environment of the gateway. Create it, put it there, and restart the gateway:`,
    keyName: 'the gateway',
    environment: 'For the environment of the gateway',
    makeKey: 'Create the key',
    noAccount: (agent: string) => `${agent} has no account yet, so it can have no key. Go back a step and create it.`,
    scope:
      'The gateway lets nobody change its jobs without this scope. Add it to the service’s settings and restart it:',
  },
  end: {
    all: 'All of it is done: the team reports by itself. Now shows whether all is well, what needs you, and what it costs.',
    missing: (open: number, unknown: number) => {
      const left = open === 1 ? 'One step is not done' : `${open} steps are not done`
      const unsaid = unknown === 1 ? 'of one nobody can say' : `of ${unknown} nobody can say`
      return `${[...(open > 0 ? [left] : []), ...(unknown > 0 ? [unsaid] : [])].join(', and ')}:`.replace(/^of/, 'Of')
    },
    goesOn: 'Tasks, the inbox and the accounts work without them. What needs the agents begins when they are done.',
    later: 'You find these steps again under Settings, and on Now while something is to do.',
  },
} as const
