import { gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

/**
 * Maximum compressed size of the first load, without the page's own chunk and the font. web_test.go checks the committed
 * build against the same limit.
 */
const most = 200_000

/** Reports the size of the first load, and fails the build if it exceeds the limit. */
export function firstLoad(): Plugin {
  return {
    name: 'first-load',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_, bundle) {
        const page = bundle['index.html']
        if (page?.type !== 'asset') return
        const sizes = Array.from(String(page.source).matchAll(/(?:src|href)="\.\/([^"]+\.(?:js|css))"/g), found => {
          const file = bundle[found[1] ?? '']
          // theme.js is not part of the bundle; it has 600 bytes.
          const text = file === undefined ? '' : file.type === 'chunk' ? file.code : file.source
          return { name: found[1] ?? '', size: text === '' ? 0 : gzipSync(text, { level: 9 }).length }
        }).filter(file => file.size > 0)
        const sum = sizes.reduce((all, file) => all + file.size, 0)
        for (const file of sizes.sort((a, b) => b.size - a.size)) {
          this.info(`${String(file.size).padStart(7)} bytes ${file.name}`)
        }
        this.info(`${String(sum).padStart(7)} bytes of the first load, at most ${most}`)
        if (sum > most) this.error(`the first load is ${sum} bytes; at most ${most} are to be`)
      },
    },
  }
}
