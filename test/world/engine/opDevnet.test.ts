// @alone it starts a whole rollup: an L1, two engines, two op-nodes and op-batcher
/**
 * A rollup of real programs (`../shared/engine/op-node`): Tidegate is the L1 and the engine of both op-nodes. The sequencer
 * passes all forks from Regolith to Jovian, op-batcher writes batches to L1, and the verifier derives the same blocks from
 * them. With OPGETH=… a third op-node has op-geth as its engine, which has to come to the same hashes.
 */
import t, { type Test } from 'tap'
import {
  concat,
  createWalletClient,
  encodeAbiParameters,
  http,
  keccak256,
  numberToHex,
  pad,
  toHex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../../src/primitives/bytes.js'
import { skipsOptimism } from '../../ingest/optimismChain.js'
import { waitFor } from '../../library/until.js'
import { type Rollup, signerKey, startRollup, timeOf } from '../../service/opRollup.js'
import { call } from '../../service/otherProgram.js'

const { OPNODE, OPBATCHER, OPGETH } = process.env
/** A well-known key of test tools. */
const depositor = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
const portal = '0x00000000000000000000000000000000000d0001'
const notRun =
  OPNODE === undefined || OPBATCHER === undefined
    ? 'OPNODE=PATH and OPBATCHER=PATH run it; OPGETH=PATH compares'
    : skipsOptimism
const payee: Hex = '0x00000000000000000000000000000000000abcde'

const blockAt = (origin: string, number: string | number) =>
  call(origin, 'eth_getBlockByNumber', [typeof number === 'number' ? numberToHex(number) : number, false])

/** Waits until both engines and op-geth have the same block up to a number, and compares all of them. */
async function mustAgree(t: Test, { sequencer, verifier, reference }: Rollup, last: number): Promise<void> {
  const others = [verifier.engine.origin, ...(reference === undefined ? [] : [reference])]
  for (const other of others) {
    await waitFor(`block ${last} at ${other}`, async () => {
      const [own, same] = [await blockAt(sequencer.engine.origin, last), await blockAt(other, last)]
      return own?.hash === same?.hash
    })
    const hashes = async (origin: string) =>
      Promise.all(Array.from({ length: last + 1 }, async (_, number) => (await blockAt(origin, number)).hash))
    t.strictSame(await hashes(other), await hashes(sequencer.engine.origin), `blocks up to ${last}`)
  }
}

/** Sends a deposit with new ether on L1 and a transaction on L2, and waits until both engines have their effects. */
async function act({ l1, sequencer, verifier }: Rollup): Promise<void> {
  const chain = (id: number, url: string) => ({
    id,
    name: String(id),
    nativeCurrency: { name: 'e', symbol: 'E', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  })
  const before = BigInt(await call(verifier.engine.origin, 'eth_getBalance', [payee, 'latest']))
  const onL1 = createWalletClient({ account: depositor, chain: chain(1337, l1.origin), transport: http() })
  const topic = keccak256(toHex('TransactionDeposited(address,address,uint256,bytes)'))
  const ether = 10n ** 18n
  const amounts = concat([
    pad(numberToHex(2n * ether)),
    pad(numberToHex(ether)),
    numberToHex(100_000n, { size: 8 }),
    '0x00',
  ])
  const words = [
    topic,
    pad(depositor.address),
    pad(payee),
    pad('0x0'),
    encodeAbiParameters([{ type: 'bytes' }], [amounts]),
  ] as const
  await onL1.sendTransaction({ to: portal, gas: 500_000n, data: concat(words) })
  const account = privateKeyToAccount(signerKey)
  const onL2 = createWalletClient({ account, chain: chain(901, sequencer.engine.origin), transport: http() })
  const fees = { gas: 30_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n }
  const hash = await onL2.sendTransaction({ to: payee, value: 1n, ...fees })
  for (const { engine } of [sequencer, verifier]) {
    await waitFor(
      'the transaction',
      async () => (await call(engine.origin, 'eth_getTransactionReceipt', [hash])) ?? undefined,
    )
    await waitFor('the deposit', async () => {
      return BigInt(await call(engine.origin, 'eth_getBalance', [payee, 'latest'])) >= before + ether
    })
  }
}

for (const data of ['calldata', 'blobs'] as const) {
  t.test(`op-node and op-batcher, with batches as ${data}`, { skip: notRun }, async (t) => {
    if (OPNODE === undefined || OPBATCHER === undefined) throw new Error('skipped')
    const rollup = await startRollup(t, data, { node: OPNODE, batcher: OPBATCHER, geth: OPGETH })
    const { l1, sequencer, verifier } = rollup
    await act(rollup)
    await waitFor('Jovian', async () => (await timeOf(sequencer.engine)) > rollup.jovianTime + 4, 500)
    await act(rollup)
    const { number } = await blockAt(sequencer.engine.origin, 'latest')
    for (const { engine, node } of [sequencer, verifier]) {
      await waitFor(
        'a safe head behind all forks',
        async () => {
          const { safe_l2, finalized_l2 } = await call(node, 'optimism_syncStatus')
          return safe_l2.number >= Number(number) && finalized_l2.number > 0
        },
        500,
      )
      t.ok(Number((await blockAt(engine.origin, 'safe')).number) >= Number(number))
      t.ok(Number((await blockAt(engine.origin, 'finalized')).number) > 0)
    }
    await mustAgree(t, rollup, Number(number))
    // L1 unwinds the origin of the newest blocks, and op-node builds them again on another origin.
    const { head_l1, unsafe_l2: origin } = await call(sequencer.node, 'optimism_syncStatus')
    await call(l1.origin, 'anvil_reorg', [head_l1.number - origin.l1origin.number + 2, []])
    await waitFor(
      'another block at the same number',
      async () => {
        const block = await blockAt(sequencer.engine.origin, origin.number)
        return block !== null && block.hash !== origin.hash
      },
      500,
    )
    await act(rollup)
    const { number: last } = await blockAt(sequencer.engine.origin, 'latest')
    await waitFor(
      'a safe head behind the reorganisation',
      async () => {
        const { safe_l2 } = await call(verifier.node, 'optimism_syncStatus')
        return safe_l2.number >= Number(last)
      },
      500,
    )
    await mustAgree(t, rollup, Number(last))
  })
}
