/** Replays what go-ethereum answered of the demo chain to methods that came later than the others. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { startService } from '../service/service.js'
import { recordingOf, replay } from './gethReplay.js'

const recording = recordingOf('methods.jsonl.gz')

/** Methods → how many of their recorded calls are answered in the same way. */
const passed = {
  debug_accountRange: 85,
  debug_getModifiedAccountsByNumber: 33,
  debug_intermediateRoots: 70,
  debug_storageRangeAt: 249,
  txpool_content: 1,
  txpool_contentFrom: 2,
  txpool_inspect: 1,
}

/**
 * go-ethereum's estimates stop once they are within 1.5% of the least gas, which is what they are here: five of its
 * drafts have more gas.
 */
const drafts = /\n77 passed, 5 failed/

t.test('traces of native tracers come out as from go-ethereum', { skip: recording.skip }, async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const native = /"tracer":"(mux|erc7562|keccak256Preimage|noop)Tracer"/
  const lines = gunzipSync(readFileSync(recording.path)).toString().trim().split('\n')
  const path = join(t.testdir(), 'native.jsonl.gz')
  writeFileSync(path, gzipSync(lines.filter((line) => native.test(line)).join('\n')))
  const said = await replay(`${service.origin}/`, { path, skip: false }, [])
  t.match(said, /\n169 passed, 0 failed/, said)
})

t.test('every recorded answer comes out as from go-ethereum', { skip: recording.skip }, async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  for (const [method, count] of Object.entries(passed)) {
    const said = await replay(`${service.origin}/`, recording, ['--only', method])
    t.match(said, `\n${count} passed, 0 failed`, said)
  }
  const filled = await replay(`${service.origin}/`, recording, ['--only', 'eth_fillTransaction'])
  t.match(filled, drafts, filled)
})
