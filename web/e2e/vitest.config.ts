import { defineConfig } from 'vitest/config'

// Browser tests. Each file runs the real binary and its own browser. `make pictures` and `make measure` run the two
// files without assertions.
const only = process.env.PICTURES ? 'pictures' : process.env.MEASURE ? 'measure' : '**/*.e2e'

export default defineConfig({
  test: {
    include: [`e2e/${only}.ts`],
    environment: 'node',
    globalSetup: 'e2e/fill.ts',
    // Three files run at once, because the tests mostly wait. Measurements are in one file, so they run alone.
    maxWorkers: 3,
    // Browsers on two shared cores are sometimes slow. A failed test is retried, and the report says so.
    retry: 1,
    // Some tests run axe on ten pages.
    testTimeout: 240_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
  },
})
