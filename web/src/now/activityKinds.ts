/** The kinds of events on the timeline. Of changed tasks, it shows only moves. */
export const activityKinds = [
  'task.created',
  'task.changed',
  'task.reported',
  'task.decided',
  'task.approved',
  'task.sent_back',
  'standup.completed',
  'standup.failed',
]
