/** Replays what go-ethereum answered of the demo chain to methods that came later than the others. */
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
}

t.test('every recorded answer comes out as from go-ethereum', { skip: recording.skip }, async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  for (const [method, count] of Object.entries(passed)) {
    const said = await replay(`${service.origin}/`, recording, ['--only', method])
    t.match(said, `\n${count} passed, 0 failed`, said)
  }
})
