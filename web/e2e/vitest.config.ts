import { defineConfig } from 'vitest/config'

// The browser's tests: the real binary and a browser for each file, two files at a time. What takes time is measured
// by `make e2e E2E=measure`, alone.
export default defineConfig({
  test: {
    include: process.env.PICTURES ? ['e2e/pictures.ts'] : ['e2e/**/*.e2e.ts'],
    environment: 'node',
    maxWorkers: 2,
    // Two browsers on two cores are slow at times. What fails once is tried once more, and the report says so.
    retry: 1,
    // axe looks at eight pages in some of them, which takes minutes where others work as well.
    testTimeout: 240_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
  },
})
