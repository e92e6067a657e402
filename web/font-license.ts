import { readFileSync } from 'node:fs'
import type { Plugin } from 'vite'

/** Writes the license of the font beside the font, as the license requires. */
export function fontLicense(): Plugin {
  return {
    name: 'font-license',
    apply: 'build',
    generateBundle() {
      const source = readFileSync('node_modules/@fontsource-variable/inter/LICENSE', 'utf8')
      this.emitFile({ type: 'asset', name: 'inter-OFL.txt', source })
    },
  }
}
