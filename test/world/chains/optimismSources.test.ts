/**
 * A follower and a gateway of a node that plays an OP Stack chain of op-geth. They cross each fork, change to a branch
 * that crosses it too, and return. All fetched, executed and proved data equal op-geth's answers. Skipped without the
 * chain.
 */
import { join } from 'node:path'
import t from 'tap'
import { compareAnswers } from '../../feed/replicaAnswers.js'
import { atHead } from '../../feed/replicaCluster.js'
import { type OptimismBlock, optimismBlocks, skipsOptimism } from '../../ingest/optimismChain.js'
import { makeOptimismReplay, optimismSubjects } from '../../ingest/optimismServed.js'
import type { PlayedBlock } from '../../ingest/replayedChain.js'
import { Steps } from '../../ingest/steppedReplay.js'
import { makeFolder } from '../../library/folder.js'
import { thirdOf } from '../../library/property.js'
import { patientLimits } from '../../service/fixtures.js'
import { runHere } from '../../service/program.js'
import { startFollower, startGateway } from '../../upstream/followedNode.js'

/** The first block of each. */
const forks = [20, 48, 80, 106, 130, 162, 204]
/** The first of each fork, one before, and the head. */
const asked = [5, 19, ...forks, 209, 240]

t.test('followers and gateways have the chain of the node', { skip: skipsOptimism }, async (t) => {
  const known = optimismBlocks('a')
  const reorganisations = forks.map((fork) => ({ after: fork + 1, back: 3, blocks: 4 }))
  const chain = await makeOptimismReplay(t, { length: 240, from: 12, intervalMs: 1, reorganisations })
  const steps = await Steps.listen(t)
  const node = await chain.start(steps.env())
  t.teardown(() => node.stop())
  const { origin } = node
  const genesisPath = join(chain.configPath, '../genesis.json')
  const followed = makeFolder(t)
  const gated = makeFolder(t)
  const follower = await startFollower(t, followed, { urls: [origin], genesisPath })
  const { requestMsMax } = patientLimits
  const gateway = await startGateway(t, gated, { urls: [origin], requestMsMax })
  const both = [follower, gateway]
  let reached = 0
  const reach = async (index: number) => {
    await steps.next(index - reached)
    reached = index
    const head = chain.heads[index]
    if (head !== undefined) await atHead(head, both)
  }
  /** A third of the forks, other ones in each run; each of several dozen answers is made three times. */
  const compared = thirdOf(chain.branches)
  for (const branch of chain.branches) {
    const first = chain.heads.indexOf(branch[0] as PlayedBlock)
    await reach(first - 1)
    await reach(first + branch.length - 1)
    if (compared.includes(branch)) {
      const answers = await compareAnswers(t, branch.slice(1, 2), node, both, optimismSubjects)
      t.ok(answers > 50, `${answers} answers about the first block of a fork on a branch`)
    }
    await reach(first + branch.length)
  }
  await reach(chain.heads.length - 1)
  for (const [index, service] of both.entries()) {
    for (const number of asked) {
      const { block, receipts } = known[number] as OptimismBlock
      const quantity = `0x${number.toString(16)}`
      const answer = await service.call('eth_getBlockByNumber', [quantity, true])
      const { totalDifficulty: _, ...found } = answer.result
      t.strictSame(found, block, `block ${number} of ${index}`)
      const { result } = await service.call('eth_getBlockReceipts', [quantity])
      t.strictSame(result, receipts, `receipts of block ${number} of ${index}`)
    }
    t.notMatch(service.said.err, /internal error|lied/, 'nobody lied')
    t.equal(await service.stop(), 0)
  }
  for (const data of [join(followed, 'data'), join(gated, 'gateway')]) {
    const verified = await runHere(['verify', '--network', 'dev', '--data', data])
    t.match(verified, { status: 0, out: /No fault found/ })
  }
})
