import { describe, expect, it } from 'vitest'
import { type Found, fold, isReported, type Piece, piecesOf, reportsOf, titleOf, titlePieces } from './searchResults'

const session = (id: string, title: string, agent: string): Found => ({
  kind: 'session',
  task_id: null,
  task_key: null,
  comment_id: null,
  session_id: id,
  standup_id: null,
  agent_id: agent,
  title,
  archived: true,
  snippet: '',
  marks: [],
  at: `2026-11-20T0${id}:00:00Z`,
  edited_at: null,
})

// A standup must not be listed once for its reports and again for each of its sessions.
describe('a session of a standup', () => {
  it('is left out if a report of that standup was found', () => {
    const of = session('1', 'agent:cto:standup:2026-11-20:cto', 'cto')
    const report = { ...session('2', 'Standup of 2026-11-20', 'cto'), session_id: null, standup_id: 'a' }
    expect(isReported(of, [of, report])).toBe(true)
    expect(isReported(of, [of, { ...report, title: 'Standup of 2026-11-19' }])).toBe(false)
    expect(isReported(session('3', 'Read the terms', 'cto'), [report])).toBe(false)
  })
})

// Identical rows would crowd out other results.
describe('sessions of one title', () => {
  it('are one row, the newest, and a count', () => {
    const folds = fold([
      session('3', 'Read the terms', 'cto'),
      session('2', 'read the terms ', 'cmo'),
      session('4', 'Another', 'cto'),
      session('1', 'Read the terms', 'cto'),
      { ...session('0', 'Read the terms', 'cto'), kind: 'task', session_id: null, task_id: 't', task_key: 'TASK-1' },
    ])
    expect(folds.map(f => [f.first.session_id, f.others, f.agents])).toEqual([
      ['3', 2, ['cto', 'cmo']],
      ['4', 0, ['cto']],
    ])
  })
})

describe('reports of one standup', () => {
  it('are one row, and whose they are', () => {
    const report = (standup: string, agent: string): Found => ({
      ...session('1', `Standup of ${standup}`, agent),
      kind: 'report',
      session_id: null,
      standup_id: standup,
    })
    const rows = reportsOf([report('b', 'cto'), session('2', 'Read', 'cto'), report('a', 'cmo'), report('b', 'cpo')])
    expect(rows.map(r => [r.standup, r.first.title, r.agents])).toEqual([
      ['b', 'Standup of b', ['cto', 'cpo']],
      ['a', 'Standup of a', ['cmo']],
    ])
  })
})

describe('what a session that was found is called', () => {
  it.each([
    ['Read the terms', 'Read the terms'],
    ['standup:2026-11-21', 'Standup, 21 Nov'],
    ['agent:cto:standup:2026-11-21', 'Standup, 21 Nov'],
    ['agent:cto:main', 'Main session'],
    ['task:task-7', 'TASK-7'],
  ])('%s: %s', (title, name) => expect(titleOf(session('1', title, 'cto'))).toBe(name))
})

// The reader must see why something was found. The text is hostile, so it stays text.
describe('what matched', () => {
  const shown = (pieces: Piece[]) => pieces.map(p => (p.hit ? `[${p.text}]` : p.text)).join('')
  const at = (snippet: string, ...words: string[]) => ({
    snippet,
    marks: words.map(w => {
      const start = [...snippet.slice(0, snippet.indexOf(w))].length
      return { start, end: start + w.length }
    }),
  })
  it('begins shortly before the first match, at a word, by characters and not by bytes', () => {
    const snippet = at('rches are 😀 slow for all who work in large places, since the index is cold', 'index')
    expect(shown(piecesOf(snippet))).toBe('…in large places, since the [index] is cold')
    expect(shown(piecesOf(at('😀 the index, the key', 'index', 'key')))).toBe('😀 the [index], the [key]')
    expect(shown(piecesOf(at('y'.repeat(80), 'yyy')))).toBe(`[yyy]${'y'.repeat(77)}`)
  })
  it('is text without Markdown, whatever it looks like', () => {
    const raw = '> ## Blockers\n> - **TASK-7** <img src=x onerror=alert(1)> `expired`'
    expect(shown(piecesOf(at(raw, 'expired')))).not.toMatch(/[#*`]|> -/)
    expect(shown(piecesOf(at('<b>bold</b> a > b', 'bold')))).toContain('<b>[bold]</b>')
    expect(shown(piecesOf({ snippet: '## Done', marks: [] }))).toBe('Done')
  })
  it('is marked in titles where a word begins, with no meaning in what was typed', () => {
    expect(shown(titlePieces('Renew the Signing certificate', 'sign cert'))).toBe('Renew the [Sign]ing [cert]ificate')
    expect(shown(titlePieces('Resigning', 'sign'))).toBe('Resigning')
    expect(shown(titlePieces('What? (a|b)', '(a|b) .*'))).toBe('What? [(a|b)]')
    expect(shown(titlePieces('All', ''))).toBe('All')
  })
})
