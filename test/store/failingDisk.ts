/** A disk that fails writes into one file, for programs that this test starts: a C library that is loaded before libc. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { makeFolder } from '../library/folder.js'

/** Which writes fail: those of LMDB's meta pages, or the flushes. */
export type Failing = 'meta' | 'sync'

export interface FailingDisk {
  /** Environment of a program whose disk shall fail. */
  readonly env: Readonly<Record<string, string>>
  fail(what: Failing): void
  mend(): void
}

const built = mkdtempSync(join(tmpdir(), 'tidegate-test-'))
process.on('exit', () => rmSync(built, { recursive: true, force: true }))
const library = join(built, 'failingDisk.so')

function isBuilt(): boolean {
  const source = join(packageRoot(), 'test/store/failingDisk.c')
  const words = ['-shared', '-fPIC', '-o', library, source, '-ldl']
  return process.platform === 'linux' && spawnSync('cc', words, { stdio: 'ignore' }).status === 0
}

/** Why tests of a failing disk are skipped; false if they can run. */
export const withoutFailingDisk = !isBuilt() && 'this needs Linux and a C compiler named cc'

/** `path` is the file. */
export function makeFailingDisk(t: Test, path: string): FailingDisk {
  const control = join(makeFolder(t), 'failing')
  return {
    env: { LD_PRELOAD: library, FAILING_FILE: path, FAILING_WHAT: control },
    fail: (what) => writeFileSync(control, what),
    mend: () => rmSync(control),
  }
}
