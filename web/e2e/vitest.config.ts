import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import type { Reporter, TestCase } from 'vitest/node'
import { short } from './browser.ts'

// Browser tests. Each file runs the real binary and its own browser. `make pictures` and `make measure` run the two
// files without assertions.
const only = process.env.PICTURES ? 'pictures' : process.env.MEASURE ? 'measure' : '**/*.e2e'

/** The files with a test that has the tag `smoke`. Vitest would start a process for each of the others, to find nothing. */
const smoke = () =>
  readdirSync(import.meta.dirname)
    .filter(f => f.endsWith('.e2e.ts') && readFileSync(`${import.meta.dirname}/${f}`, 'utf8').includes("'smoke'"))
    .map(f => `e2e/${f}`)

/** Lists the tests that passed only on their second try, like test/go.sh. */
const flaky: Reporter = {
  onTestCaseResult(test: TestCase) {
    if (test.diagnostic()?.flaky) {
      appendFileSync(
        new URL('../../bin/flaky.txt', import.meta.url),
        `${test.module.relativeModuleId}: ${test.fullName}\n`,
      )
    }
  },
}

export default defineConfig({
  test: {
    reporters: ['default', flaky],
    include: short ? smoke() : [`e2e/${only}.ts`],
    tags: [
      { name: 'smoke', description: 'what `make test` runs: each place opens, and the most important flows work' },
    ],
    ...(short ? { tagsFilter: ['smoke'] } : {}),
    environment: 'node',
    globalSetup: 'e2e/fill.ts',
    // Four files run at once, because the tests mostly wait.
    maxWorkers: 4,
    // Browsers on two shared cores are sometimes slow. A failed test is retried, and the report says so.
    retry: 1,
    // Some tests run axe on ten pages.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
