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
  escalation: { label: 'Escalation', icon: 'up', acts: ['decide'] },
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
    icon: 'tasks',
    acts: ['dispatch', 'openRun'],
    failure: true,
    endsWhen: 'the agent finishes a later run',
  },
  job_failed: {
    label: 'Job failed',
    icon: 'schedules',
    acts: ['runJob', 'openRun'],
    failure: true,
    endsWhen: 'the next run succeeds',
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
