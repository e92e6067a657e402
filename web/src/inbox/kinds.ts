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
  escalation: { label: 'Escalation', icon: 'flag', acts: ['decide'] },
  old_blocker: { label: 'Old blocker', icon: 'blocked', acts: ['decide'] },
  task_blocked: { label: 'Blocked task', icon: 'blocked', acts: ['decide'], endsWhen: 'the task is unblocked' },
  task_review: {
    label: 'Waiting for review',
    icon: 'eye',
    acts: ['approve', 'sendBack'],
    endsWhen: 'the task leaves Review',
  },
  dispatch_failed: {
    label: 'Dispatch failed',
    icon: 'warning',
    acts: ['dispatch', 'openRun'],
    failure: true,
    endsWhen: 'the agent finishes a later run',
  },
  job_failed: {
    label: 'Job failed',
    icon: 'error',
    acts: ['runJob', 'openRun'],
    failure: true,
    endsWhen: 'the next run succeeds',
  },
  job_undelivered: {
    label: 'Answer not delivered',
    icon: 'schedules',
    acts: ['openRun'],
    failure: true,
    endsWhen: 'a later answer is delivered',
  },
  job_unlisted: {
    label: 'Job not listed',
    icon: 'schedules',
    acts: ['openRun'],
    failure: true,
    endsWhen: 'the gateway lists the job again',
  },
  job_missed: {
    label: 'Job missed',
    icon: 'schedules',
    acts: ['runJob'],
    failure: true,
    endsWhen: 'the job runs',
  },
  run_stalled: {
    label: 'Run stalled',
    icon: 'sessions',
    acts: ['openSession', 'stopSession'],
    failure: true,
    endsWhen: 'the run ends or is active again',
  },
  loop: {
    label: 'Run in a loop',
    icon: 'sessions',
    acts: ['stopSession', 'openSession'],
    failure: true,
    endsWhen: 'the run ends',
  },
  standup_failed: {
    label: 'Standup failed',
    icon: 'standups',
    acts: ['retryStandup'],
    failure: true,
    endsWhen: 'a retry completes',
  },
  standup_missed: {
    label: 'Standup missed',
    icon: 'standups',
    acts: ['runStandup'],
    failure: true,
    endsWhen: 'the standup completes',
  },
  gateway_trouble: {
    label: 'Gateway problem',
    icon: 'link',
    acts: ['testConnection'],
    failure: true,
    endsWhen: 'the gateway works again',
  },
  login_ending: { label: 'Login ends', icon: 'link', acts: [], failure: true, endsWhen: 'the login is renewed' },
  agent_file: {
    label: 'Agent file too long',
    icon: 'warning',
    acts: ['message'],
    endsWhen: 'the file is shorter than its limit',
  },
  model_changed: { label: 'Another model', icon: 'spend', acts: ['openRun'] },
  limit_reached: {
    label: 'Limit',
    icon: 'spend',
    acts: ['allowMore', 'raiseLimit', 'keepStopped'],
    endsWhen: 'the period or the run of the limit ends',
  },
  spend_unusual: { label: 'Unusual spend', icon: 'spend', acts: ['openSpend'] },
  approval: { label: 'Approval', icon: 'eye', acts: ['review'], endsWhen: 'someone answers or the request ends' },
  question: { label: 'Question', icon: 'comment', acts: ['answer'], endsWhen: 'someone answers or the request ends' },
  pairing_pending: {
    label: 'Pairing pending',
    icon: 'link',
    acts: ['testConnection'],
    endsWhen: 'the pairing is approved',
  },
}

/** The labels of the kinds. */
export const kindLabels: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(kindTable).map(([kind, { label }]) => [kind, label]),
)
