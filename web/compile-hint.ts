import type { Plugin } from 'vite'

/**
 * Must be the first line of the file to have an effect (Chromium 136 and later: v8.dev/blog/explicit-compile-hints).
 * Other browsers ignore it.
 */
const hint = '//# allFunctionsCalledOnLoad\n'

/**
 * Has the browser compile the functions of a file while it loads, rather than on their first call. Must run after
 * Vite's own banner in the first file.
 */
export function compileHint(): Plugin {
  return {
    name: 'compile-hint',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_, bundle) {
        for (const file of Object.values(bundle)) if (file.type === 'chunk') file.code = hint + file.code
      },
    },
  }
}
