import { defineConfig } from 'vitest/config'

// The browser tests: each file runs the real binary and a browser of its own. `make pictures` and `make measure` run
// the two files that assert nothing.
const only = process.env.PICTURES ? 'pictures' : process.env.MEASURE ? 'measure' : '**/*.e2e'

export default defineConfig({
  test: {
    include: [`e2e/${only}.ts`],
    environment: 'node',
    // The tests wait more than they work. Figures come from one file alone.
    maxWorkers: 3,
    // Browsers that share two cores are slow at times. A failed test gets a second try, and the report says so.
    retry: 1,
    // axe looks at ten pages in some of them.
    testTimeout: 240_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
  },
})
