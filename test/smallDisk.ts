import { execFileSync } from 'node:child_process'
import type { Test } from 'tap'
import { freeBytesMin } from '../src/store/environment.js'
import { makeFolder } from './program.js'

export interface SmallDisk {
  readonly folder: string
  /** Changes its size; what it holds stays. */
  resize(kilobytes: number): void
}

/**
 * Runs `use` with a disk, in memory, that counts as full once so many kilobytes are taken. Says so where this user may
 * not mount one.
 */
export async function onSmallDisk(
  t: Test,
  kilobytes: number,
  use: (disk: SmallDisk) => Promise<void>,
): Promise<void> {
  const folder = makeFolder(t)
  const sizeFor = (kilobytes: number) => `size=${kilobytes + freeBytesMin / 1024}k`
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', sizeFor(kilobytes), 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    t.comment('skipped: this user may not mount a small file system')
    return
  }
  try {
    await use({
      folder,
      resize: (kilobytes) => {
        execFileSync('mount', ['-o', `remount,${sizeFor(kilobytes)}`, folder])
      },
    })
  } finally {
    execFileSync('umount', ['-l', folder])
  }
}
