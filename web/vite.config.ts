import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'
import { compileHint } from './compile-hint.ts'
import { firstLoad } from './first-load.ts'
import { fontLicense } from './font-license.ts'
import { sourceHash } from './source-hash.ts'

export default defineConfig({
  // Relative addresses, so that the build works below any path. web.go completes those of the page.
  base: './',
  plugins: [react(), tailwind(), sourceHash(), compileHint(), fontLicense(), firstLoad()],
  build: {
    target: 'es2023',
    // The content security policy forbids inline scripts and data: URLs.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // Puts everything in the first load into one file.
        codeSplitting: { groups: [{ name: 'frame', tags: ['$initial'] }] },
      },
    },
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': process.env.WARDROOM ?? 'http://127.0.0.1:3000' } },
  // On a busy machine, a test of a whole form takes 30 times as long as alone. This limit is for tests that hang.
  test: {
    environment: 'node',
    testTimeout: 120_000,
    // Only components get fresh modules for each file, which takes three times as long.
    projects: [
      { extends: true, test: { name: 'rules', include: ['src/**/*.test.ts'], isolate: false } },
      {
        extends: true,
        test: { name: 'components', include: ['src/**/*.test.tsx'], setupFiles: 'src/testing-setup.ts' },
      },
    ],
  },
})
