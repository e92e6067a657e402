import { call, type Demo } from './demo.ts'

export interface Held {
  id: string
  date: string
  status: string
}

/** Runs a team's standup to its end through the API; today's by default. */
export async function hold(demo: Demo, team = 'executive', date?: string): Promise<Held> {
  const { id } = (await call(demo, 'POST', '/standups', { team, ...(date ? { date } : {}) })) as Held
  await call(demo, 'POST', `/standups/${id}/run`)
  for (;;) {
    const now = (await call(demo, 'GET', `/standups/${id}`)) as Held
    if (now.status !== 'running') return now
    await new Promise(next => setTimeout(next, 250))
  }
}
