import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** A folder that is removed when the test ends. */
export function makeFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes a file into a folder and returns its path. The content is written as JSON unless it is text or bytes. */
export function writeInto(folder: string, name: string, content: unknown): string {
  const path = join(folder, name)
  const isRaw = typeof content === 'string' || content instanceof Uint8Array
  writeFileSync(path, isRaw ? content : JSON.stringify(content))
  return path
}
