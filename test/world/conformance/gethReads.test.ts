// @shares
/**
 * Replays go-ethereum's answers to reads of the demo chain, if the recording is beside the package (`../shared/geth`).
 * Different answers are in gethDifferences.json, each with its reason.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { methods } from '../../../src/serving/rpc/registry.js'
import { recordingOf, replay } from '../../conformance/gethReplay.js'
import { startService } from '../../service/service.js'

interface Difference {
  readonly method: string
  readonly params: readonly unknown[]
  readonly reason: string
}

const reads = recordingOf('reads.jsonl.gz')
const differences: readonly Difference[] = JSON.parse(
  readFileSync(join(packageRoot(), 'test/conformance/gethDifferences.json'), 'utf8'),
)

t.test(
  'every recorded read comes out as from go-ethereum, but for a short list',
  { skip: reads.skip },
  async (t) => {
    t.ok(differences.length <= 25)
    const lines = gunzipSync(readFileSync(reads.path)).toString().trim().split('\n')
    const recorded = new Set(lines.map((line): string => JSON.parse(line).method))
    const only = [...recorded].filter((method) => method in methods)
    t.ok(only.length >= 19, only.join())
    const service = await startService()
    t.teardown(() => service.stop())
    const flags = ['--only', only.join(), '--batch', '50', '--verbose']
    const out = await replay(`${service.origin}/`, reads, flags)
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
  },
)
