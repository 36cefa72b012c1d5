/** A node whose chain crosses to Amsterdam, and a follower and a gateway that cross it with the node. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.js'
import { keccak256 } from '../../../src/primitives/keccak.js'
import { encodeRlp } from '../../../src/primitives/rlp.js'
import { compareAnswers } from '../../feed/replicaAnswers.js'
import { atHead } from '../../feed/replicaCluster.js'
import { withoutAmsterdam } from '../../ingest/amsterdam.js'
import { forkBlock, makeAmsterdamReplay, subjectsAt } from '../../ingest/amsterdamReplay.js'
import type { PlayedBlock } from '../../ingest/replayedChain.js'
import { Steps } from '../../ingest/steppedReplay.js'
import { makeFolder } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { patientLimits } from '../../service/fixtures.js'
import { runHere } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { HeadListener, startFollower, startGateway } from '../../upstream/followedNode.js'

/** Members of a header in the order of its hash; the last two have a value from Amsterdam on. */
const integers = ['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp', 'baseFeePerGas', 'blobGasUsed']
const quantities = new Set([...integers, 'excessBlobGas', 'slotNumber'])
const members = [
  ...['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom'],
  ...['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp', 'extraData', 'mixHash', 'nonce'],
  ...['baseFeePerGas', 'withdrawalsRoot', 'blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot'],
  ...['requestsHash', 'blockAccessListHash', 'slotNumber'],
]

/** The hash of a header from its JSON. */
function hashOfJson(header: Readonly<Record<string, unknown>>): string {
  const items = members
    .filter((name) => header[name] !== null)
    .map((name) => {
      const digits = String(header[name]).slice(2)
      const minimal = digits.replace(/^0+/, '')
      const isQuantity = quantities.has(name)
      const even = isQuantity ? minimal.padStart(minimal.length + (minimal.length % 2), '0') : digits
      return hexToBytes(even)
    })
  return bytesToHex(keccak256(encodeRlp(items)))
}

const reorganisations = [
  // A reorganisation from the last blocks of BPO2 over the fork, and back.
  { after: 39, back: 2, blocks: 4 },
  // A reorganisation from Amsterdam back over the fork, to a branch that crosses it again.
  { after: 41, back: 4, blocks: 3 },
  // A reorganisation from far above the fork to a branch that ends before it.
  { after: 45, back: 8, blocks: 2 },
  { after: 48, back: 2, blocks: 1 },
]

t.test('a follower and a gateway cross the fork to Amsterdam', { skip: withoutAmsterdam }, async (t) => {
  const chain = await makeAmsterdamReplay(t, { length: 50, from: 34, intervalMs: 1, reorganisations })
  const steps = await Steps.listen(t)
  const node = await chain.start(steps.env())
  t.teardown(() => node.stop())
  const followed = makeFolder(t)
  const gated = makeFolder(t)
  const genesisPath = join(chain.configPath, '../genesis.json')
  const follower = await startFollower(t, followed, { urls: [node.origin], genesisPath })
  const gateway = await startGateway(t, gated, {
    urls: [node.origin],
    requestMsMax: patientLimits.requestMsMax,
  })
  const both = [follower, gateway]
  await atHead(chain.heads[0] as PlayedBlock, both)
  const listeners = await Promise.all([node, ...both].map((service) => HeadListener.open(t, service)))
  for (const head of chain.heads.slice(1)) {
    await steps.next()
    await atHead(head, both)
  }
  const last = bytesToHex((chain.heads.at(-1) as PlayedBlock).hash)
  const base = bytesToHex((chain.heads[0] as PlayedBlock).hash)
  const want = chain.blocks.slice(33).map(({ hash }) => bytesToHex(hash))
  for (const [index, listener] of listeners.entries()) {
    await waitFor('the news of the last head', () => listener.events.at(-1)?.hash === last)
    t.strictSame(listener.follow(base), want)
    t.strictSame(listener.events, listeners[0]?.events, `listener ${index} is told what the node tells`)
  }
  for (const event of listeners[0]?.events ?? []) {
    const header = event as unknown as Readonly<Record<string, unknown>>
    if (event.removed) continue
    const isDue = Number(header.number) >= forkBlock
    const due = members.slice(-2).map((name) => typeof header[name] === 'string')
    t.strictSame(due, [isDue, isDue], `members of block ${header.number}`)
    t.equal(hashOfJson(header), event.hash)
  }
  await compareCrossing(t, chain.blocks, node, both)

  const copy = join(makeFolder(t), 'copy')
  const restored = join(makeFolder(t), 'data')
  const data = join(followed, 'data')
  t.match(await runHere(['snapshot', copy, '--data', data, '--network', 'dev']), { status: 0 })
  t.match(await runHere(['restore', copy, '--data', restored]), { status: 0 })
  const copied = await startService(['--network', 'dev', '--data', restored, '--no-auth'])
  t.teardown(() => copied.stop())
  await compareCrossing(t, chain.blocks, node, [copied])

  for (const service of [copied, ...both]) {
    t.notMatch(service.said.err, /internal error|lied/)
    t.equal(await service.stop(), 0)
  }
  for (const folder of [data, restored, join(gated, 'gateway')]) {
    t.match(await runHere(['verify', '--network', 'dev', '--data', folder]), {
      status: 0,
      out: /No fault found/,
    })
  }
})

/** Compares all answers about some of the blocks before, at and after the fork. */
async function compareCrossing(
  t: Test,
  blocks: readonly PlayedBlock[],
  node: Service,
  others: readonly Service[],
): Promise<void> {
  const crossing = someOf(blocks.slice(forkBlock - 3, forkBlock + 3), 3)
  const answers = await compareAnswers(t, crossing, node, others, subjectsAt)
  t.ok(answers > 100, `${answers} answers`)
}
