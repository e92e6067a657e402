import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { settings } from '../texts/settings'

const internal = join(import.meta.dirname, '../../../internal')

/** The Go sources without tests and the demo gateway. */
const sources = readdirSync(internal, { recursive: true, encoding: 'utf8' })
  .filter(f => f.endsWith('.go') && !f.endsWith('_test.go') && !f.includes('demo'))
  .map(f => ({ dir: f.replace(/\/[^/]*$/, ''), text: readFileSync(join(internal, f), 'utf8') }))

/** The packages that write audit events. */
const writers = new Set(sources.filter(s => s.text.includes('event.Audit')).map(s => s.dir))

/** Kinds that belong to the activity log, except for the audited ones. */
const activity =
  /^(task\.(?!deleted)|comment\.(?!deleted)|standup\.(?!deleted)|team\.|session\.(?!message_sent|stopped)|agent\.hold_changed)/

function written(): string[] {
  const kinds = new Set<string>()
  const form =
    /"((?:login|password|registration|setup|user|key|pairing|retention|prices|service|settings|schedule|job|session|task|comment|standup|limit|agent|approval|question)\.[a-z_]+)"/g
  for (const { dir, text } of sources) {
    if (!writers.has(dir)) continue
    for (const [, kind] of text.matchAll(form)) if (kind && !activity.test(kind)) kinds.add(kind)
  }
  return [...kinds].sort()
}

// Every kind needs a readable text.
describe('what the service writes', () => {
  it('to the audit has a word for every kind', () => {
    const kinds = written()
    expect(kinds).toContain('login.succeeded')
    expect(kinds).toContain('user.changed')
    expect(kinds.length).toBeGreaterThan(25)
    expect(kinds.filter(k => !settings.audit.said[k])).toEqual([])
    expect(Object.keys(settings.audit.said).filter(k => !kinds.includes(k))).toEqual([])
  })

  it('of the retention has a name for every policy', () => {
    const text = sources.map(s => s.text).find(t => t.includes('[]retention.Policy{')) ?? ''
    const names = Array.from(
      text.slice(text.indexOf('[]retention.Policy{')).matchAll(/Name: "([a-z_]+)", Setting:/g),
      m => m[1],
    )
    expect(names.length).toBeGreaterThan(3)
    expect(names.sort()).toEqual(Object.keys(settings.retention.names).sort())
  })
})
