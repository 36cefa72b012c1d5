/** A follower with nodes that lag, lie and reorganise. */
import t from 'tap'
import { isLong, nodeMs, Storm } from '../../faults/storm.js'
import { makeFolder } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { startFollower } from '../../upstream/followedNode.js'

// If the operator lets one node of nine lead, the four lying nodes lead for much of a long storm.
for (const quorum of isLong ? [undefined] : someOf([undefined, 1], 1)) {
  const by = quorum === undefined ? 'a majority leads' : 'the highest claim leads'
  t.test(`a follower in a storm where ${by} serves what is right, and in time`, async (t) => {
    const storm = await Storm.open(t)
    const { urls, genesisPath } = storm
    const service = await startFollower(t, makeFolder(t), {
      urls,
      genesisPath,
      pollMs: 100,
      timeoutMs: nodeMs,
      ...(quorum !== undefined && { quorum }),
    })
    await storm.rage(service, {
      // If one node is enough, a lying one may lead for some seconds, a sixth of a short storm.
      ...(quorum === 1 && { lateShareMax: 0.5 }),
      mayFail: () => false,
      mayRefuseOrphan: (message) => message === 'header for hash not found',
    })
  })
}
