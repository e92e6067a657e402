// Runs the real binary.
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** The time zone of the browsers. */
export const browserZone = 'Europe/Berlin'

/** An address and credentials. */
export interface Account {
  base: string
  email: string
  password: string
}

export interface Running<T> {
  /** The value that `find` returned. */
  said: T
  folder: string
  /** Stops the process and keeps its data. */
  stop: () => Promise<void>
  /** Stops the process and deletes its data. */
  close: () => Promise<void>
}

/** Runs the binary, in its own folder unless one is given, until `find` returns a value for its output. */
export async function run<T>(
  args: (folder: string) => string[],
  find: (said: string) => T | undefined,
  settings: Record<string, string> = {},
  again?: string,
): Promise<Running<T>> {
  const folder = again ?? (await mkdtemp(join(tmpdir(), 'wardroom-e2e-')))
  const child = spawn(resolve(process.env.WARDROOM_BINARY ?? '../bin/wardroom'), args(folder), {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder, ...settings },
  })
  const stop = async () => {
    if (child.exitCode !== null) return
    const ended = new Promise(done => child.once('exit', done))
    child.kill('SIGTERM')
    await ended
  }
  const close = async () => {
    await stop()
    await rm(folder, { recursive: true, force: true })
  }
  const what = args(folder)[0]
  let words = ''
  const told = new Promise<T>((resolve, reject) => {
    const read = (piece: Buffer) => {
      words += piece.toString()
      const said = find(words)
      if (said !== undefined) resolve(said)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`${what} ended with ${code}:\n${words}`)))
    setTimeout(() => reject(new Error(`${what} says nothing of it:\n${words}`)), 30_000).unref()
  })
  try {
    return { said: await told, folder, stop, close }
  } catch (err) {
    await close()
    throw err
  }
}
