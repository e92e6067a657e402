import { gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

/** What somebody waits for in the morning, compressed, before the page's own part. web_test.go holds what is committed to the same. */
const most = 200_000

/** Tells how heavy the first load is, and of what; a build that is over the limit is none. */
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
        const sizes = Array.from(String(page.source).matchAll(/(?:src|href)="\/([^"]+\.(?:js|css))"/g), found => {
          const file = bundle[found[1] ?? '']
          // theme.js stands beside the bundle, and has 600 bytes.
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
