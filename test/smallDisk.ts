import { execFileSync } from 'node:child_process'
import type { Test } from 'tap'
import { makeFolder } from './program.js'

export interface SmallDisk {
  readonly folder: string
  /** Changes its size; what it holds stays. */
  resize(kilobytes: number): void
}

/** Runs `use` with a disk of so many kilobytes, in memory. Says so where this user may not mount one. */
export async function onSmallDisk(
  t: Test,
  kilobytes: number,
  use: (disk: SmallDisk) => Promise<void>,
): Promise<void> {
  const folder = makeFolder(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    t.comment('skipped: this user may not mount a small file system')
    return
  }
  try {
    await use({
      folder,
      resize: (kilobytes) => {
        execFileSync('mount', ['-o', `remount,size=${kilobytes}k`, folder])
      },
    })
  } finally {
    execFileSync('umount', ['-l', folder])
  }
}
