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
  const seen = async () => JSON.stringify([await call(demo, 'GET', '/usage'), await call(demo, 'GET', '/sessions')])
  let before = ''
  for (let i = 0, now = await seen(); i < 15 && now !== before; i++) {
    before = now
    await sleep(2000)
    now = await seen()
  }
  await demo.stop()
  project.provide('filled', demo.folder)
  return () => rm(demo.folder, { recursive: true, force: true })
}
