/** The kinds of events in the activity card. Of changed tasks, it shows only moves. */
export const activityKinds = [
  'task.created',
  'task.changed',
  'task.reported',
  'task.decided',
  'task.approved',
  'task.sent_back',
  'task.dispatch_ended',
  'standup.completed',
  'standup.failed',
  'slot.failed',
  'slot.missed',
]
