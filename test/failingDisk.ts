/** A disk that fails writes into one file, for programs that this test starts: a C library that is loaded before libc. */
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageRoot } from '../src/config.js'
import { makeFolder } from './program.js'

/** Which writes fail: those of LMDB's meta pages, or the flushes. */
export type Failing = 'meta' | 'sync'

export interface FailingDisk {
  /** Environment of a program that is to see the disk fail. */
  readonly env: Readonly<Record<string, string>>
  fail(what: Failing): void
  mend(): void
}

/** Undefined, after saying so, where there is no C compiler or another system than Linux. `path` is the file. */
export function makeFailingDisk(t: Test, path: string): FailingDisk | undefined {
  const folder = makeFolder(t)
  const library = join(folder, 'failingDisk.so')
  const source = join(packageRoot(), 'test/failingDisk.c')
  try {
    if (process.platform !== 'linux') throw new Error('not Linux')
    execFileSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl'], { stdio: 'ignore' })
  } catch {
    t.comment('skipped: this needs Linux and a C compiler named cc')
    return undefined
  }
  const control = join(folder, 'failing')
  return {
    env: { LD_PRELOAD: library, FAILING_FILE: path, FAILING_WHAT: control },
    fail: (what) => writeFileSync(control, what),
    mend: () => rmSync(control),
  }
}
