import type { Plugin } from 'vite'

/** Stands first in a file, or is no hint (Chromium 136 and later: v8.dev/blog/explicit-compile-hints). Others read a comment. */
const hint = '//# allFunctionsCalledOnLoad\n'

/**
 * Has the functions of a file compiled while it is read, beside the page, and not each when it is first called, which is
 * while somebody waits for a place. It has to come after Vite's own line in the first file.
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
