/**
 * Entry of a process that reads every row of a store and exits with status 0 if that succeeds; see lmdbFile.ts. Opens
 * the file without the checks there, which started this process.
 */
import { open } from 'lmdb'

const [path] = process.argv.slice(2)
if (path === undefined) throw new Error('this takes the path of a store')
const binary = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const
const environment = open({ path, noSubdir: true, readOnly: true, maxDbs: 32, ...binary })
let bytes = 0
for (const name of environment.getKeys()) {
  const table = environment.openDB<Uint8Array, Uint8Array>({
    name: Buffer.from(name as Uint8Array)
      .toString('utf8')
      .replace(/\0$/, ''),
    ...binary,
  })
  for (const { value } of table.getRange()) bytes += value.length
}
process.exit(Number.isFinite(bytes) ? 0 : 1)
