import { defineConfig } from 'vitest/config'

// The browser's tests: the real binary, one browser, one after the other.
export default defineConfig({
  test: {
    include: process.env.PICTURES ? ['e2e/pictures.ts'] : ['e2e/**/*.e2e.ts'],
    environment: 'node',
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
