import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { Plugin } from 'vite'

// The sources of dist. web_test.go has the same list and computes the same hash.
const sources = [
  'compile-hint.ts',
  'first-load.ts',
  'font-license.ts',
  'index.html',
  'package-lock.json',
  'package.json',
  'public',
  'source-hash.ts',
  'src',
  'tsconfig.json',
  'vite.config.ts',
]

const files = (path: string): string[] =>
  statSync(path).isDirectory() ? readdirSync(path).flatMap(name => files(`${path}/${name}`)) : [path]

/** Writes dist/source.sha256, so that a Go test without Node detects an outdated dist. */
export function sourceHash(): Plugin {
  return {
    name: 'source-hash',
    apply: 'build',
    generateBundle() {
      const hash = createHash('sha256')
      const made = sources.flatMap(files).filter(name => !name.includes('.test.'))
      for (const name of made.sort()) {
        hash.update(`${name}\0`).update(readFileSync(name, 'utf8').replaceAll('\r\n', '\n')).update('\0')
      }
      this.emitFile({ type: 'asset', fileName: 'source.sha256', source: `${hash.digest('hex')}\n` })
    },
  }
}
