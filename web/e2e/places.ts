// Every place of the dashboard, for the tests and pictures that visit all of them.
import { call, type Demo } from './demo.ts'

/** A name, a path, and the selector of what shows when the place has its data. */
export type Place = readonly [name: string, path: string, ready: string]

const places: readonly Place[] = [
  ['now', '/', 'main section li'],
  ['inbox', '/inbox', '[data-item]'],
  ['tasks-board', '/tasks?view=board', 'article'],
  ['tasks-table', '/tasks?view=table', '[role=row] button'],
  ['task', '/tasks?view=board&task=TASK-7', 'aside h2'],
  ['task-table', '/tasks?view=table&task=TASK-7', 'aside h2'],
  ['task-new', '/tasks?new=1', '[role=dialog] input'],
  ['agents', '/agents', 'main dl'],
  ['agent', '/agents/cto', 'main h3'],
  ['agent-connect', '/agents/cto?connect=1', '[role=dialog] h2'],
  ['standups', '/standups', 'main h2'],
  ['standups-transcript', '/standups?part=transcript', 'main h2'],
  ['sessions', '/sessions', 'main [role=listitem] a, main h2:not(.sr-only)'],
  ['sessions-archive', '/sessions?show=history', 'main [role=listitem] a, main h2:not(.sr-only)'],
  ['session', '/sessions/{session}', 'main [role=listitem]'],
  ['spend', '/spend', 'main h2'],
  ['spend-table', '/spend?show=table&by=model&period=today', 'main h2'],
  ['spend-limits', '/spend?part=limits', 'main h2'],
  ['spend-prices', '/spend?part=prices', 'main h2'],
  ['spend-price', '/spend?part=prices&price=new', '[role=dialog] input'],
  ['schedules', '/schedules', 'main h2:not(.sr-only), [role=row] [role=switch]'],
  ['schedules-job', '/schedules?job={job}', 'aside h2'],
  ['schedules-slots', '/schedules?job={job}&tab=slots', 'aside h2'],
  ['schedules-new', '/schedules?form=new', '[role=dialog] input'],
  ['schedules-standup', '/schedules?form=standup', '[role=dialog] input'],
  ['settings', '/settings', 'main a[href="/welcome"]'],
  ['settings-account', '/settings/account', 'main form'],
  ['settings-users', '/settings/users', '[data-user]'],
  ['settings-agents', '/settings/agents', '[data-agent]'],
  ['settings-gateway', '/settings/gateway', '#doctor [data-healthy=true]'],
  ['settings-projects', '/settings/projects', 'main h2'],
  ['settings-teams', '/settings/teams', '[data-team]'],
  ['settings-retention', '/settings/retention', '[data-policy]'],
  ['settings-audit', '/settings/audit', '[data-event]'],
  ['settings-health', '/settings/health', '[data-health]'],
  ['settings-keys', '/settings/agents?agent=coo', '[data-key]'],
  ['settings-user-new', '/settings/users?new=1', '[role=dialog] input'],
  ['welcome', '/welcome', 'section h3'],
  ['welcome-accounts', '/welcome?step=accounts', 'section h3'],
  ['welcome-standup', '/welcome?step=standup', 'section form'],
]

/** Returns every place of a demo, with its longest archived session and its failing job. */
export async function placesOf(demo: Demo): Promise<Place[]> {
  const sessions = (await call(demo, 'GET', '/sessions?limit=200')) as { id: string; messages: number }[]
  const jobs = (await call(demo, 'GET', '/agentrt/jobs')) as { id: string; name: string }[]
  const session = sessions.reduce((a, b) => (b.messages > a.messages ? b : a)).id
  const job = jobs.find(j => j.name === 'Check the backup')?.id ?? ''
  return places.map(([name, path, ready]) => [name, path.replace('{session}', session).replace('{job}', job), ready])
}
