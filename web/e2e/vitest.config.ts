import { defineConfig } from 'vitest/config'

// The browser's tests: the real binary, one browser, one after the other.
export default defineConfig({
  test: {
    include: process.env.PICTURES ? ['e2e/pictures.ts'] : ['e2e/**/*.e2e.ts'],
    environment: 'node',
    fileParallelism: false,
    // axe looks at eight pages in some of them, which takes minutes where others work as well.
    testTimeout: 240_000,
    hookTimeout: 60_000,
  },
})
