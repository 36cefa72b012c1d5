/** Replays recordings of go-ethereum's answers, if they are beside the package (`../shared/geth`). */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { inTime } from '../library/until.js'

const folder = join(packageRoot(), '../shared/geth')

export interface Recording {
  readonly path: string
  /** Why tests of it are skipped; false if it is available. */
  readonly skip: string | false
}

export function recordingOf(file: string): Recording {
  const path = join(folder, file)
  return { path, skip: !existsSync(path) && `there is no recording at ${path}` }
}

/** The output of the replay. */
export function replay(url: string, { path }: Recording, flags: readonly string[]): Promise<string> {
  const words = [join(folder, 'run.mjs'), '--url', url, path, ...flags]
  const ended = new Promise<string>((resolve) => {
    execFile(process.execPath, words, { maxBuffer: 2 ** 26 }, (_error, out, err) => resolve(out + err))
  })
  return inTime('the replay to end', ended)
}
