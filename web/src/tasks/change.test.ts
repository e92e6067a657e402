// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { inverse, sendDependencies } from './change'
import type { Task } from './task'

const task = (version: number, dependsOn: string[]) =>
  ({ id: 't', key: 'TASK-1', version, depends_on: dependsOn, parent_id: null }) as unknown as Task

/** The task on the fake server, and the requests it received. */
let kept: Task
const written: unknown[] = []

beforeEach(() => {
  written.length = 0
  session.signIn(`x.${btoa('{"sub":"ada"}')}.y`)
  vi.stubGlobal('fetch', async (request: Request) => {
    const answer = (status: number, body: unknown) =>
      new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } })
    if (request.method === 'GET') return answer(200, kept)
    if (request.headers.get('If-Match') !== `"${kept.version}"`)
      return answer(412, { code: 'changed', title: 'Changed' })
    const body = (await request.json()) as Partial<Task>
    written.push(body)
    kept = { ...kept, ...body, version: kept.version + 1 }
    return answer(200, kept)
  })
})
afterEach(() => vi.unstubAllGlobals())

// Quick changes of the parent and the dependencies must not conflict with each other.
it('what a task waits for may change after something else of it did', async () => {
  kept = task(5, ['TASK-2', 'TASK-3'])
  await sendDependencies(task(4, ['TASK-2', 'TASK-3']), { depends_on: ['TASK-3'] })
  expect(kept.depends_on).toEqual(['TASK-3'])
})

it('what a task waits for is not replaced by who has not seen it', async () => {
  kept = task(5, ['TASK-2', 'TASK-3', 'TASK-4'])
  const sent = sendDependencies(task(4, ['TASK-2', 'TASK-3']), { depends_on: ['TASK-3'] })
  await expect(sent).rejects.toMatchObject({ status: 412 })
  expect(written).toEqual([])
})

// A card must not look new after a move that was undone.
it('is as long in its column after an undo as before the move', () => {
  const was = { ...task(4, []), status: 'review', moved_at: '2026-03-02T09:00:00Z' } as Task
  expect(inverse(was, { status: 'done' })).toEqual({ status: 'review', moved_at: '2026-03-02T09:00:00Z' })
  expect(inverse(was, { title: 'x' })).not.toHaveProperty('moved_at')
})

// Undo must not make an old blocker look new, nor name the one who undid.
it('is blocked after an undo since when and by whom it was', () => {
  const blocked = { reason: 'No card', since: '2026-03-02T09:00:00Z', by: 'CTO' }
  const was = { ...task(4, []), status: 'todo', moved_at: '2026-03-01T09:00:00Z', blocked } as Task
  expect(inverse(was, { blocked: null })).toEqual({ blocked })
  expect(inverse(was, { status: 'done' })).toMatchObject({ status: 'todo', blocked })
  expect(inverse({ ...was, blocked: null }, { blocked: { reason: 'x' } })).toEqual({ blocked: null })
})
