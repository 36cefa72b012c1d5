import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freeBytesMin } from '../../src/data/store/lmdb/environment.js'
import { makeFolder } from '../library/folder.js'

export interface SmallDisk {
  readonly folder: string
  /** Changes the size of the disk; its files stay. */
  resize(kilobytes: number): void
  /** Changes the size of the disk so that this number of kilobytes is free. */
  leave(kilobytes: number): void
}

/** `remount` among the options changes the size of an existing disk. */
function mount(folder: string, kilobytes: number, ...options: readonly string[]): void {
  const size = `size=${kilobytes + freeBytesMin / 1024}k`
  const words = ['-t', 'tmpfs', '-o', [...options, size].join(), 'tmpfs', folder]
  execFileSync('mount', words, { stdio: 'ignore' })
}

function unmount(folder: string): void {
  execFileSync('umount', ['-l', folder])
}

function mayMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-test-'))
  try {
    mount(folder, 1)
    unmount(folder)
    return true
  } catch {
    return false
  } finally {
    rmdirSync(folder)
  }
}

/** Why tests on a small disk are skipped; false if they can run. */
export const withoutSmallDisk = !mayMount() && 'this user may not mount a small file system'

/** Runs `use` with a disk, in memory, that counts as full once this number of kilobytes is used. */
export async function onSmallDisk(
  t: Test,
  kilobytes: number,
  use: (disk: SmallDisk) => Promise<void>,
): Promise<void> {
  const folder = makeFolder(t)
  mount(folder, kilobytes)
  try {
    const resize = (kilobytes: number) => mount(folder, kilobytes, 'remount')
    const leave = (kilobytes: number) => {
      const { blocks, bfree, bsize } = statfsSync(folder)
      resize(((blocks - bfree) * bsize) / 1024 + kilobytes)
    }
    await use({ folder, resize, leave })
  } finally {
    unmount(folder)
  }
}
