// @alone it starts two beacon nodes, their validators and the nodes below them
/**
 * Prysm drives Tidegate: its validators have all blocks built and executed here, from the Merge to Osaka, until blocks of
 * Osaka are final. One node is killed meanwhile. Another pair of nodes gets the chain from peers. Then the
 * execution client of that pair loses its store, and fills the gap from the first beacon node.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { numberToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { systemContracts } from '../../../data/devnet/systemContracts.js'
import { bytesToHex, type Hex } from '../../../src/primitives/bytes.js'
import { testKeys } from '../../ingest/chainMaker.js'
import { withCellProofs, zeroSidecar, zeroVersionedHash } from '../../library/blobTransaction.js'
import { makeFolder } from '../../library/folder.js'
import { once, waitFor } from '../../library/until.js'
import { type EngineNode, startEngine } from '../../service/engineNode.js'
import { freePort } from '../../service/ports.js'
import {
  type BeaconNode,
  makePrysmChain,
  payloadHashOf,
  startBeacon,
  startValidators,
} from '../../service/prysmChain.js'

const { PRYSM } = process.env
const sender = privateKeyToAccount(bytesToHex(testKeys[0] as Uint8Array))
const payee: Hex = '0x00000000000000000000000000000000000abcde'
const fees = { chainId: 7357, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n }
const pauseMs = 500

const blockOf = async ({ service }: EngineNode, block: string) =>
  (await service.call('eth_getBlockByNumber', [block, false])).result
const headOf = async (node: EngineNode) => Number((await blockOf(node, 'latest')).number)

/** Request to a contract of the protocol that no validator has signed for; the beacon chain takes and ignores it. */
function requestTo(name: string, bytes: number) {
  const { address } = systemContracts.find((contract) => contract.name === name) as { address: Hex }
  return { to: address, data: `0x${'07'.repeat(bytes)}` as const, value: 1_000n, gas: 400_000n }
}

/** Sends transactions of the kinds that a fork has. Returns their hashes. */
async function sendAll(t: Test, { service }: EngineNode, fork: string): Promise<Hex[]> {
  let nonce = Number((await service.call('eth_getTransactionCount', [sender.address, 'pending'])).result)
  const raws: Hex[] = []
  const transfer = { to: payee, value: 1n, gas: 21_000n }
  raws.push(await sender.signTransaction({ type: 'eip1559', ...fees, ...transfer, nonce: nonce++ }))
  if (fork !== 'bellatrix' && fork !== 'capella') {
    const blobs = { blobVersionedHashes: [zeroVersionedHash], sidecars: [zeroSidecar] }
    const fields = { ...fees, ...transfer, ...blobs, maxFeePerBlobGas: 10n ** 9n, nonce: nonce++ }
    const raw = await sender.signTransaction({ type: 'eip4844', ...fields })
    raws.push(fork === 'fulu' || fork === 'bpo1' ? withCellProofs(raw) : raw)
  }
  if (fork === 'electra' || fork === 'fulu')
    for (const request of [requestTo('WithdrawalRequests', 56), requestTo('ConsolidationRequests', 96)])
      raws.push(await sender.signTransaction({ type: 'eip1559', ...fees, ...request, nonce: nonce++ }))
  const hashes: Hex[] = []
  for (const raw of raws) {
    const { result, error } = await service.call('eth_sendRawTransaction', [raw])
    t.equal(error, undefined, fork)
    hashes.push(result)
  }
  return hashes
}

async function mustSucceed(t: Test, { service }: EngineNode, hashes: readonly Hex[]): Promise<void> {
  for (const hash of hashes) {
    const receipt = await waitFor(
      `transaction ${hash}`,
      async () => (await service.call('eth_getTransactionReceipt', [hash])).result ?? undefined,
      pauseMs,
    )
    t.equal(receipt.status, '0x1')
  }
}

/** Waits until a node has the chain of another one up to a block, and compares all hashes. */
async function mustAgree(t: Test, node: EngineNode, other: EngineNode, last: number): Promise<void> {
  await waitFor(`block ${last}`, async () => (await headOf(node)) >= last, pauseMs)
  for (let number = 0; number <= last; number++) {
    const [own, same] = [await blockOf(node, numberToHex(number)), await blockOf(other, numberToHex(number))]
    if (own.hash !== same.hash) t.equal(own.hash, same.hash, `block ${number}`)
  }
}

/** Waits until the tags are the blocks that the beacon node calls final and head. */
async function mustFollow(t: Test, node: EngineNode, beacon: BeaconNode): Promise<void> {
  for (const [tag, block] of [
    ['finalized', 'finalized'],
    ['latest', 'head'],
  ] as const)
    await waitFor(
      tag,
      // After a gap, blocks are final from the next choice on.
      async () => (await blockOf(node, tag))?.hash === (await payloadHashOf(beacon, block)),
      pauseMs,
    )
  const [latest, safe, finalized] = [
    await blockOf(node, 'latest'),
    await blockOf(node, 'safe'),
    await blockOf(node, 'finalized'),
  ].map(({ number }) => Number(number)) as [number, number, number]
  t.ok(finalized > 0 && finalized < safe && safe < latest, `${finalized}, ${safe}, ${latest}`)
}

async function kill({ service }: EngineNode): Promise<void> {
  const ended = once(service.process, 'exit')
  service.process.kill('SIGKILL')
  await ended
}

t.test('Prysm drives two nodes', { skip: PRYSM === undefined && 'PRYSM=FOLDER runs it' }, async (t) => {
  const chain = makePrysmChain(t, PRYSM as string)
  const { genesis, jwt } = chain
  const home = { data: join(makeFolder(t), 'data'), port: await freePort(), jwt }
  let node = await startEngine(t, { genesis, ...home })
  const beacon = await startBeacon(t, chain, node, { name: 'first' })
  startValidators(t, chain, beacon)
  await waitFor('the first block', async () => (await headOf(node)) > 0, pauseMs)
  await mustSucceed(t, node, await sendAll(t, node, 'bellatrix'))
  for (const { name, seconds } of chain.forks) {
    const isThere = async () => Number((await blockOf(node, 'latest')).timestamp) >= seconds
    await waitFor(name, isThere, pauseMs)
    await mustSucceed(t, node, await sendAll(t, node, name))
    if (name !== 'deneb') continue
    const before = await headOf(node)
    await kill(node)
    node = await startEngine(t, home)
    // The newest choice may be missing.
    t.ok((await headOf(node)) >= before - 1, 'its chain is stored')
    await waitFor('more blocks', async () => (await headOf(node)) > before + 3, pauseMs)
  }
  const osaka = chain.forks.find(({ name }) => name === 'fulu')?.seconds as number
  const isFinal = async () => Number((await blockOf(node, 'finalized'))?.timestamp) >= osaka
  await waitFor('a final block of Osaka', isFinal, pauseMs)
  await mustFollow(t, node, beacon)

  const otherHome = { port: await freePort(), jwt }
  const flags = ['--engine-beacon', beacon.url]
  let other = await startEngine(t, { genesis, ...otherHome })
  const otherBeacon = await startBeacon(t, chain, other, { name: 'second', peer: beacon.peer })
  await mustAgree(t, other, node, await headOf(node))
  await mustFollow(t, other, otherBeacon)

  await kill(other)
  other = await startEngine(t, { genesis, ...otherHome, flags })
  await mustAgree(t, other, node, await headOf(node))
  await mustFollow(t, other, otherBeacon)
  for (const { service } of [node, other]) t.notMatch(service.said.err, /has a bad block/)
})
