import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'
import { firstLoad } from './first-load.ts'
import { sourceHash } from './source-hash.ts'

export default defineConfig({
  plugins: [react(), tailwind(), sourceHash(), firstLoad()],
  build: {
    target: 'es2023',
    // The policy of the page allows no inline script and no data: address.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // Few files: a place that is opened for the first time waits for all that it needs, which were over twenty.
        // Each file needs those above it alone, so that none is run before what it extends.
        codeSplitting: {
          groups: [
            { name: 'frame', tags: ['$initial'], priority: 3 },
            // Whoever signs in needs no more than this.
            { name: 'forms', test: /src\/(ui\/Field|login\/)|\/useMutation/, minShareCount: 2, priority: 2 },
            { name: 'shared', minShareCount: 3, priority: 1 },
          ],
        },
      },
    },
  },
  server: { proxy: { '/api': process.env.WARDROOM ?? 'http://127.0.0.1:3000' } },
  test: { include: ['src/**/*.test.{ts,tsx}'], environment: 'node' },
})
