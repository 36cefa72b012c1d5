/** Programs of others that a test starts, and calls to them. */
import { spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { once, waitFor } from '../library/until.js'

/** The result of a call. Rejects with the message of an error. */
export async function call(url: string, method: string, params: readonly unknown[] = []) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { result, error } = (await answer.json()) as { result?: unknown; error?: { message: string } }
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  return result as any
}

/** The answer once there is one: the other side may still start. */
export const answered = (url: string, method: string, params: readonly unknown[] = []) =>
  waitFor(`${method} of ${url}`, () => call(url, method, params).catch(() => undefined), 200)

/** Starts a program, which ends with the test. Returns the file of its output. */
export function run(
  t: Test,
  folder: string,
  name: string,
  [program, ...words]: readonly [string, ...string[]],
): string {
  const path = join(folder, `${name}.log`)
  const log = openSync(path, 'a')
  const child = spawn(program, words, { stdio: ['ignore', log, log], cwd: folder })
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    // A program may not end on SIGTERM while its engine is away.
    child.kill('SIGKILL')
    await ended
  })
  return path
}
