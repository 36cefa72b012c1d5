/** A gateway before nodes that lag, lie and reorganise. */
import t from 'tap'
import { makeFolder } from '../service/program.js'
import { startGateway } from '../upstream/followedNode.js'
import { Storm } from './storm.js'

/** What a gateway says that has no answer. */
const clear = /^(no upstream |request timed out|fewer than )/

t.test('a gateway in a storm serves what is right, and in time', async (t) => {
  const storm = await Storm.open(t)
  // Nodes that make 64 blocks on a slow machine answer nothing meanwhile; those that are silent do so for as long.
  const service = await startGateway(t, makeFolder(t), { urls: storm.urls, timeoutMs: 30_000 })
  await storm.rage(service, {
    mayFail: (message) => clear.test(message),
    mayRefuseOrphan: (message) => clear.test(message) || message === 'header for hash not found',
  })
})
