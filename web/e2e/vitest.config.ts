import { appendFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type Reporter, type TestCase, type TestSpecification } from 'vitest/node'

// Browser tests. Each file runs the real binary and its own browser. `make pictures` and `make measure` run the two
// files without assertions.
const only = process.env.PICTURES ? 'pictures' : process.env.MEASURE ? 'measure' : '**/*.e2e'

/** The slowest files start first, so that the run does not end with waiting for them. */
const longest = [
  'standups',
  'settings',
  'flow',
  'schedules',
  'frame',
  'spend',
  'tasks',
  'sessions',
  'now',
  'control',
  'inbox',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = (f: TestSpecification) => {
      const at = longest.findIndex(name => f.moduleId.endsWith(`/${name}.e2e.ts`))
      return at < 0 ? longest.length : at
    }
    return files.toSorted((a, b) => rank(a) - rank(b))
  }
}

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
    include: [`e2e/${only}.ts`],
    environment: 'node',
    globalSetup: 'e2e/fill.ts',
    // Four files run at once, because the tests mostly wait. Measurements are in one file, so they run alone.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // Browsers on two shared cores are sometimes slow. A failed test is retried, and the report says so.
    retry: 1,
    // Some tests run axe on ten pages.
    testTimeout: 240_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
  },
})
