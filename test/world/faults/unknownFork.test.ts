// @shares
/** A follower and a gateway with nodes whose chain has a fork that this version does not know. */
import { RLP } from '@ethereumjs/rlp'
import { keccak_256 } from '@noble/hashes/sha3.js'
import t, { type Test } from 'tap'
import { appendedFields } from '../../../src/data/chain/header.js'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.js'
import { reachesTip } from '../../faults/storm.js'
import { accounts, type StormBlock, StormChain } from '../../faults/stormChain.js'
import { answerFrom, HonestNode } from '../../faults/stormNodes.js'
import { contracts } from '../../ingest/chainMaker.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import type { Service } from '../../service/service.js'
import { startFollower, startGateway } from '../../upstream/followedNode.js'

/** Fields of a header of the chain, and those with which a fork of the future has two more than are known here. */
const presentFields = 21
const fields = 15 + appendedFields.length + 2
const sentence = (number: number) =>
  `this chain has a fork that this version does not know (header of block ${number} has ${fields} fields); update Tidegate`

/** A block on `parent` whose header has unknown fields: hashes and integers in turn. */
async function makeFuture(chain: StormChain, parent: StormBlock): Promise<StormBlock> {
  const made = await chain.maker.extend(parent.made, {
    transactions: [{ from: 0, to: accounts[1] as string, value: 5n }],
  })
  const [header = [], ...body] = RLP.decode(made.rlp) as unknown as [Uint8Array[], ...Uint8Array[]]
  const more = Array.from({ length: fields - presentFields }, (_, index) =>
    index % 2 === 0 ? new Uint8Array(32).fill(0xa0 + index) : Uint8Array.of(7 + index),
  )
  const items = [hexToBytes(parent.hash), ...header.slice(1), ...more]
  const names = [...appendedFields.slice(presentFields - 15), 'futureHash', 'futureNumber']
  const members = names.map((name, index) => [name, bytesToHex(more[index] as Uint8Array)])
  const hash = keccak_256(RLP.encode(items))
  return {
    made: { ...made, hash, rlp: RLP.encode([items, ...body]) },
    number: made.number,
    hash: bytesToHex(hash),
    parent,
    isValid: true,
    bornAt: 0,
    // Nodes write members in any order.
    moreMembers: { parentHash: parent.hash, ...Object.fromEntries(members.reverse()) },
  }
}

/** Two nodes, and a function that makes a block their head. */
async function openNodes(t: Test, hasRaw: boolean) {
  const chain = await StormChain.fromSeed(3)
  const nodes = [0, 0].map((lagSteps) => new HonestNode(chain, { lagSteps, hasRaw }))
  for (const { node } of nodes) {
    await node.start()
    t.teardown(() => node.stop())
  }
  const genesisPath = writeInto(makeFolder(t), 'genesis.json', JSON.parse(chain.maker.genesisText))
  /** `type`: of the transactions of its JSON. */
  const turnTo = (tip: StormBlock, type = '0x0') => {
    chain.blocks.set(tip.hash, tip)
    for (const { node } of nodes) {
      node.answer = async (call) => {
        const answer = await answerFrom(chain, { tip, has: () => true }, hasRaw, call)
        const isTip = call.method === 'eth_getBlockByHash' && call.params[0] === tip.hash && call.params[1]
        const { result } = answer as { result: { transactions: object[] } }
        if (!isTip) return answer
        return { result: { ...result, transactions: result.transactions.map((each) => ({ ...each, type })) } }
      }
    }
  }
  return { chain, genesisPath, urls: nodes.map(({ node }) => node.url), turnTo }
}

async function reportedTrouble(service: Service): Promise<unknown> {
  const health = async () => JSON.parse(await (await fetch(`${service.origin}/health`)).text())
  await waitFor('the health of it', async () => (await health()).networks.dev.trouble !== undefined)
  const { status, networks } = await health()
  return { status, trouble: networks.dev.trouble }
}

/** The lines of the log at level `error`. */
function errorsOf({ said }: Service): string[] {
  const lines = said.err.split('\n').filter((line) => line.includes('"level":50'))
  return lines.map((line) => JSON.parse(line).msg)
}

for (const hasRaw of someOf([true, false], 1)) {
  const by = hasRaw ? 'raw blocks' : 'JSON'
  t.test(`a follower stops before it, says so once, and accuses nobody (${by})`, async (t) => {
    const { chain, genesisPath, urls, turnTo } = await openNodes(t, hasRaw)
    const service = await startFollower(t, makeFolder(t), { urls, genesisPath })
    await reachesTip(service, chain)
    const known = await chain.advance(0).then(() => chain.tip)
    const first = await makeFuture(chain, known)
    turnTo(first, '0x7e')
    t.strictSame(await reportedTrouble(service), { status: 'failing', trouble: sentence(82) })
    await reachesTip(service, chain)
    turnTo(await makeFuture(chain, first))
    // The block is checked again, each time after a longer wait.
    await waitFor(
      'the next head',
      async () => (await service.call('eth_syncing')).result.highestBlock === '0x53',
    )
    t.strictSame(errorsOf(service), [sentence(82)])
    t.notMatch(service.said.err, 'lied')
    t.equal((await service.call('eth_blockNumber')).result, '0x51')
    const late = await startFollower(t, makeFolder(t), { urls, genesisPath })
    await reachesTip(late, chain)
    t.strictSame(await reportedTrouble(late), { status: 'failing', trouble: sentence(82) })
    t.strictSame(errorsOf(late), [sentence(82)])
  })

  t.test(`a gateway serves what can be proved, and refuses calls there (${by})`, async (t) => {
    const { chain, urls, turnTo } = await openNodes(t, hasRaw)
    const service = await startGateway(t, makeFolder(t), { urls })
    await reachesTip(service, chain)
    const before = chain.tip
    let future = before
    for (let count = 0; count < 2; count++) {
      future = await makeFuture(chain, future)
      turnTo(future)
      await waitFor('the next head', async () => {
        return (await service.call('eth_blockNumber')).result === `0x${future.number.toString(16)}`
      })
    }
    t.strictSame(await reportedTrouble(service), { status: 'failing', trouble: sentence(82) })
    t.equal((await service.call('eth_syncing')).result, false)
    const block = await service.call('eth_getBlockByHash', [future.hash, true])
    t.match(block.result, { hash: future.hash, parentHash: future.parent?.hash })
    t.equal(block.result.transactions.length, 1)
    t.strictSame(
      (await service.call('debug_getRawReceipts', [future.hash])).result,
      future.made.receipts.map(bytesToHex),
    )
    for (const address of accounts.slice(0, 3)) {
      const balance = `0x${(await chain.balance(future, address)).toString(16)}`
      t.equal((await service.call('eth_getBalance', [address, 'latest'])).result, balance)
      t.equal((await service.call('eth_getProof', [address, [], 'latest'])).result.balance, balance)
    }
    const call = { to: contracts.mortal, from: accounts[0] }
    for (const method of ['eth_call', 'eth_estimateGas', 'eth_createAccessList']) {
      t.match(
        (await service.call(method, [call, 'latest'])).error,
        { code: -32000, message: sentence(82) },
        method,
      )
    }
    const simulated = await service.call('eth_simulateV1', [
      { blockStateCalls: [{ calls: [call] }] },
      'latest',
    ])
    t.match(simulated.error, { message: sentence(82) })
    t.match((await service.call('debug_traceBlockByHash', [future.hash])).error, { message: sentence(82) })
    t.equal((await service.call('eth_call', [call, before.hash])).result, '0x')
    t.strictSame(errorsOf(service), [sentence(81)])
    t.notMatch(service.said.err, 'lied')
  })
}
