// @shares
/** A gateway with nodes that lag, lie and reorganise. */
import { join } from 'node:path'
import t from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { verifyGateway } from '../../../src/sources/ingest/gateway/verifyGateway.js'
import { Storm } from '../../faults/storm.js'
import { makeFolder } from '../../library/folder.js'
import { storePathOf } from '../../service/program.js'
import { startGateway } from '../../upstream/followedNode.js'

/** The messages of a gateway without an answer. */
const clear = /^(no upstream |request timed out|fewer than )/

t.test('a gateway in a storm serves what is right, and in time', async (t) => {
  const storm = await Storm.open(t)
  // Nodes that make 64 blocks on a slow machine do not answer meanwhile; silent nodes stay silent for the same time.
  const folder = makeFolder(t)
  const service = await startGateway(t, folder, { urls: storm.urls, timeoutMs: 30_000, logsFrom: 0 })
  await storm.rage(service, {
    mayFail: (message) => clear.test(message),
    mayRefuseOrphan: (message) => clear.test(message) || message === 'header for hash not found',
  })
  await service.stop()
  const store = ChainReader.open({ path: storePathOf(join(folder, 'gateway'), 'dev') })
  t.teardown(() => store.close())
  const { faults, head, indexed } = verifyGateway(store)
  t.strictSame(faults, [], 'reorganisations lost no log, and doubled none')
  t.ok(indexed > head / 2, `${indexed} of ${head + 1} blocks are in the index of logs`)
})
