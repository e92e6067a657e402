import { call, type House } from './house.ts'

export interface Held {
  id: string
  date: string
  status: string
}

/** Runs a team's standup to its end through the API; today's by default. */
export async function hold(house: House, team = 'executive', date?: string): Promise<Held> {
  const { id } = (await call(house, 'POST', '/standups', { team, ...(date ? { date } : {}) })) as Held
  await call(house, 'POST', `/standups/${id}/run`)
  for (;;) {
    const now = (await call(house, 'GET', `/standups/${id}`)) as Held
    if (now.status !== 'running') return now
    await new Promise(next => setTimeout(next, 250))
  }
}
