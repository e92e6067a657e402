import type { Schemas } from '../api/client'
import type { IconName } from '../ui/Icon'

/** The names of the actions on items; useItemActs.tsx has what they do. */
export type ActName =
  | 'decide'
  | 'approve'
  | 'sendBack'
  | 'runJob'
  | 'openRun'
  | 'dispatch'
  | 'retryStandup'
  | 'runStandup'
  | 'openSession'
  | 'stopSession'
  | 'testConnection'
  | 'allowMore'
  | 'raiseLimit'
  | 'keepStopped'
  | 'message'
  | 'answer'
  | 'review'
  | 'openSpend'

export interface Kind {
  label: string
  /** What one and several items are, after their number. */
  nouns: readonly [one: string, many: string]
  icon: IconName
  /** The actions, the primary one first. */
  acts: readonly ActName[]
  /** Whether it is a failure. The others are for people to decide. */
  failure?: true
  /** What makes Wardroom resolve the item by itself. */
  endsWhen?: string
}

/** Everything that the dashboard knows about the kinds of items. A new kind needs only an entry here. */
export const kindTable: Readonly<Record<Schemas['InboxItem']['kind'], Kind>> = {
  escalation: { label: 'Escalation', nouns: ['decision', 'decisions'], icon: 'flag', acts: ['decide'] },
  old_blocker: { label: 'Old blocker', nouns: ['old blocker', 'old blockers'], icon: 'blocked', acts: ['decide'] },
  task_blocked: {
    label: 'Blocked task',
    nouns: ['long-blocked task', 'long-blocked tasks'],
    icon: 'blocked',
    acts: ['decide'],
    endsWhen: 'the task is unblocked',
  },
  task_review: {
    label: 'Waiting for review',
    nouns: ['review', 'reviews'],
    icon: 'eye',
    acts: ['approve', 'sendBack'],
    endsWhen: 'the task leaves Review',
  },
  dispatch_failed: {
    label: 'Dispatch failed',
    nouns: ['failed dispatch', 'failed dispatches'],
    icon: 'warning',
    acts: ['dispatch', 'openRun'],
    failure: true,
    endsWhen: 'the agent finishes a later run',
  },
  job_failed: {
    label: 'Job failed',
    nouns: ['failed job', 'failed jobs'],
    icon: 'error',
    acts: ['runJob', 'openRun'],
    failure: true,
    endsWhen: 'the next run succeeds',
  },
  job_undelivered: {
    label: 'Answer not delivered',
    nouns: ['undelivered answer', 'undelivered answers'],
    icon: 'schedules',
    acts: ['openRun'],
    failure: true,
    endsWhen: 'a later answer is delivered',
  },
  job_unlisted: {
    label: 'Job not listed',
    nouns: ['unlisted job', 'unlisted jobs'],
    icon: 'schedules',
    acts: ['openRun'],
    failure: true,
    endsWhen: 'the gateway lists the job again',
  },
  job_missed: {
    label: 'Job missed',
    nouns: ['missed job', 'missed jobs'],
    icon: 'schedules',
    acts: ['runJob'],
    failure: true,
    endsWhen: 'the job runs',
  },
  run_stalled: {
    label: 'Run stalled',
    nouns: ['stalled run', 'stalled runs'],
    icon: 'sessions',
    acts: ['openSession', 'stopSession'],
    failure: true,
    endsWhen: 'the run ends or is active again',
  },
  loop: {
    label: 'Run in a loop',
    nouns: ['run in a loop', 'runs in a loop'],
    icon: 'sessions',
    acts: ['stopSession', 'openSession'],
    failure: true,
    endsWhen: 'the run ends',
  },
  standup_failed: {
    label: 'Standup failed',
    nouns: ['failed standup', 'failed standups'],
    icon: 'standups',
    acts: ['retryStandup'],
    failure: true,
    endsWhen: 'a retry completes',
  },
  standup_missed: {
    label: 'Standup missed',
    nouns: ['missed standup', 'missed standups'],
    icon: 'standups',
    acts: ['runStandup'],
    failure: true,
    endsWhen: 'the standup completes',
  },
  gateway_trouble: {
    label: 'Gateway problem',
    nouns: ['gateway problem', 'gateway problems'],
    icon: 'link',
    acts: ['testConnection'],
    failure: true,
    endsWhen: 'the gateway works again',
  },
  login_ending: {
    label: 'Login ends',
    nouns: ['ending login', 'ending logins'],
    icon: 'link',
    acts: [],
    failure: true,
    endsWhen: 'the login is renewed',
  },
  gateway_disk: {
    label: 'Gateway disk almost full',
    nouns: ['gateway disk low on space', 'gateway disks low on space'],
    icon: 'warning',
    acts: [],
    endsWhen: 'the disk has space again',
  },
  agent_file: {
    label: 'Agent file too long',
    nouns: ['long agent file', 'long agent files'],
    icon: 'warning',
    acts: ['message'],
    endsWhen: 'the file is shorter than its limit',
  },
  model_changed: {
    label: 'Another model',
    nouns: ['changed model', 'changed models'],
    icon: 'spend',
    acts: ['openRun'],
  },
  limit_reached: {
    label: 'Limit',
    nouns: ['limit', 'limits'],
    icon: 'spend',
    acts: ['allowMore', 'raiseLimit', 'keepStopped'],
    endsWhen: 'the period or the run of the limit ends',
  },
  spend_unusual: { label: 'Unusual spend', nouns: ['spend alert', 'spend alerts'], icon: 'spend', acts: ['openSpend'] },
  approval: {
    label: 'Approval',
    nouns: ['approval', 'approvals'],
    icon: 'eye',
    acts: ['review'],
    endsWhen: 'someone answers or the request ends',
  },
  question: {
    label: 'Question',
    nouns: ['question', 'questions'],
    icon: 'comment',
    acts: ['answer'],
    endsWhen: 'someone answers or the request ends',
  },
  pairing_pending: {
    label: 'Pairing pending',
    nouns: ['pending pairing', 'pending pairings'],
    icon: 'link',
    acts: ['testConnection'],
    endsWhen: 'the pairing is approved',
  },
}

/** The labels of the kinds. */
export const kindLabels: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(kindTable).map(([kind, { label }]) => [kind, label]),
)

/** Returns a number of items of a kind: "1 review", "3 reviews". */
export const countOf = (kind: Schemas['InboxItem']['kind'], n: number): string =>
  `${n} ${kindTable[kind].nouns[n === 1 ? 0 : 1]}`
