// @shares
/**
 * Replays recorded exchanges of other clients against this server, if the recordings are beside the package
 * (`../shared/conformance`). These are `run.mjs`, and `rpc-compat` with genesis, chain and one folder of recordings for
 * each method.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { methods } from '../../../src/serving/rpc/registry.js'
import { inTime } from '../../library/until.js'
import { conformanceDir, recordedConfig, recordings, withoutRecordings } from '../../service/fixtures.js'
import { startService } from '../../service/service.js'

/** Another test has a node to send to (test/world/rpc/eth_sendRawTransaction.test.ts). */
const passedOn = 'eth_sendRawTransaction'
const recorded = Object.keys(methods).filter(
  (method) => method !== passedOn && existsSync(join(recordings, method)),
)

t.test(
  'every recorded exchange of our methods comes out the same',
  { skip: withoutRecordings },
  async (t) => {
    t.ok(recorded.length >= 8, `recordings of ${recorded.join(', ')}`)
    const service = await startService(['--config', recordedConfig, '--no-auth'])
    t.teardown(() => service.stop())
    const transports = [
      ['--url', `${service.origin}/`],
      ['--ws', `${service.origin.replace('http', 'ws')}/ws`],
    ]
    for (const transport of transports) {
      const { status, out } = await replay(transport)
      t.equal(status, 0, out)
      t.match(out, /^[1-9]\d* passed, 0 failed$/m)
      for (const method of recorded) t.match(out, new RegExp(`^✓ ${method} `, 'm'))
    }
  },
)

function replay(transport: readonly string[]): Promise<{ status: number | null; out: string }> {
  const replayed = new Promise<{ status: number | null; out: string }>((resolve) => {
    const words = [
      // Node.js 20 has no WebSocket without it.
      '--experimental-websocket',
      join(conformanceDir, 'run.mjs'),
      ...transport,
      '--only',
      recorded.join(','),
    ]
    const child = execFile(process.execPath, words, (_error, out, err) =>
      resolve({ status: child.exitCode, out: out + err }),
    )
  })
  return inTime('the replay to end', replayed)
}
