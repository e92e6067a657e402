// Fills a demo once, before all tests. They start with copies of it, because each demo would spend seconds on its past.
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestProject } from 'vitest/node'
import { call, startDemo } from './demo.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder of the filled demo. */
    filled: string
  }
}

export default async function fill(project: TestProject): Promise<() => Promise<void>> {
  const demo = await startDemo({ fresh: true })
  // Everything but what changes with the time alone. The archive is read last.
  const seen = async () => {
    const { total } = (await call(demo, 'GET', '/usage')) as { total: unknown }
    const rows = (await call(demo, 'GET', '/sessions?limit=200')) as object[]
    return JSON.stringify([total, rows.map(row => ({ ...row, age_seconds: undefined }))])
  }
  let before = ''
  for (let i = 0, now = await seen(); now !== before; i++) {
    if (i === 60) throw new Error('the demo does not come to rest')
    before = now
    await sleep(1000)
    now = await seen()
  }
  await demo.stop()
  project.provide('filled', demo.folder)
  return () => rm(demo.folder, { recursive: true, force: true })
}
