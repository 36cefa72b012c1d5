// @shares
/** Replays go-ethereum's answers about the demo chain for the newest methods. */
import t from 'tap'
import { recordingOf, replay } from '../../conformance/gethReplay.js'
import { someOf } from '../../library/property.js'
import { fixtureConfig } from '../../service/fixtures.js'
import { startService } from '../../service/service.js'
import { transports } from '../../transport/eachTransport.js'

const recording = recordingOf('methods.jsonl.gz')
const { skip } = recording

/**
 * go-ethereum's estimates stop within 1.5% of the least gas; here they are the least gas. So five of its drafts have
 * more gas.
 */
const passed = /\n838 passed, 5 failed/
const drafts = /\neth_fillTransaction: 77 passed, 5 failed/

for (const transport of someOf(transports, 1)) {
  t.test(`every recorded answer comes out as from go-ethereum, ${transport.name}`, { skip }, async (t) => {
    const service = await startService([
      '--config',
      fixtureConfig,
      '--no-auth',
      '--transport',
      transport.name,
    ])
    t.teardown(() => service.stop())
    const said = await replay(`${service.origin}/`, recording, [])
    t.match(said, passed, said)
    t.match(said, drafts)
  })
}
