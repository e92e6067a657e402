export const acting = {
  decide: {
    button: 'Decide…',
    means: 'Decide answers the agent and unblocks the task.',
    unblockMeans: 'Unblock only removes the mark.',
    title: (key: string) => `Decide on ${key}`,
    titleOf: 'Decide',
    label: 'Your decision',
    help: (key: string) => `Posted as a comment on ${key}.`,
    helpItem: 'The item is resolved with your decision.',
    unblock: (key: string) => `Unblock ${key}`,
    staysBlocked: 'The item stays in the inbox, acknowledged.',
    send: (agent: string) => `Send to ${agent} now`,
    isGoing: (agent: string) => `${agent} already has this task.`,
    submit: 'Submit decision',
    done: (key: string, unblocked: boolean, agent: string | null) =>
      `Decided on ${key}${unblocked ? ', unblocked' : ''}${agent ? `, sent to ${agent}` : ''}`,
  },
  approve: {
    button: 'Approve',
    done: (key: string) => `${key} approved`,
    undone: (key: string) => `${key} is in Review again`,
    couldNot: (key: string) => `Couldn’t approve ${key}`,
  },
  sendBack: {
    button: 'Send back…',
    title: (key: string) => `Send back ${key}`,
    label: 'What should change?',
    help: (agent: string) => `${agent} continues in the same session with your text.`,
    helpNoAgent: 'Posted as a comment. The task moves to In progress.',
    submit: 'Send back',
    done: (key: string, agent: string | null) =>
      agent ? `${key} sent back to ${agent}` : `${key} moved to In progress`,
  },
  notYet: (agent: string) => `${agent} is working on it. Review it when the run ends, or stop the run.`,
  of: (what: string, about: string) => `${what.replace(/…$/, '')}: ${about}`,
  keys: 'Ctrl+Enter or ⌘+Enter submits',
} as const
