/**
 * Replays what go-ethereum answered to reads of the demo chain, where the recording lies beside the package
 * (`../shared/geth`). What comes out otherwise here stands in gethDifferences.json, each with its reason.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { methods } from '../../src/rpc/registry.js'
import { startService } from '../service.js'
import { inTime } from '../until.js'

interface Difference {
  readonly method: string
  readonly params: readonly unknown[]
  readonly reason: string
}

const folder = join(packageRoot(), '../shared/geth')
const reads = join(folder, 'reads.jsonl.gz')
const differences: readonly Difference[] = JSON.parse(
  readFileSync(join(packageRoot(), 'test/conformance/gethDifferences.json'), 'utf8'),
)
const skip = !existsSync(reads) && `there is no recording at ${reads}`

t.test('every recorded read comes out as from go-ethereum, but for a short list', { skip }, async (t) => {
  t.ok(differences.length <= 25)
  const lines = gunzipSync(readFileSync(reads)).toString().trim().split('\n')
  const recorded = new Set(lines.map((line): string => JSON.parse(line).method))
  const only = [...recorded].filter((method) => method in methods)
  t.ok(only.length >= 19, only.join())
  const service = await startService()
  t.teardown(() => service.stop())
  const words = [join(folder, 'run.mjs'), '--url', `${service.origin}/`, reads]
  const out = await replay([...words, '--only', only.join(), '--batch', '50', '--verbose'])
  t.match(out, /^[1-9]\d* passed, \d+ failed$/m)
  const failed = out.split('\n').filter((line) => line.startsWith('FAIL '))
  // The replay cuts long parameters.
  const startOf = ({ method, params }: Difference) =>
    `FAIL ${method} ${JSON.stringify(params).slice(0, 140)} `
  t.strictSame(
    failed.filter((line) => !differences.some((known) => line.startsWith(startOf(known)))),
    [],
  )
  t.strictSame(
    differences.filter((known) => !failed.some((line) => line.startsWith(startOf(known)))),
    [],
    'every difference of the list is one',
  )
})

function replay(words: readonly string[]): Promise<string> {
  const ended = new Promise<string>((resolve) => {
    execFile(process.execPath, words, { maxBuffer: 2 ** 26 }, (_error, out, err) => resolve(out + err))
  })
  return inTime('the replay to end', ended)
}
