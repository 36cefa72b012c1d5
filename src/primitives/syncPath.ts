import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Returns once a file, or the entries of a folder, are on disk. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
