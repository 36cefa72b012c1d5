// @shares
/** Transactions of a node under a consensus client: op-batcher's limits of blocks of the OP Stack, and other nodes that get them. */
import { join } from 'node:path'
import t from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { bytesToHex, type Hex, hexToBytes, toQuantity } from '../../../src/primitives/bytes.js'
import { rlpList } from '../../../src/primitives/rlp.js'
import { parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { mergedConfig, testGenesis } from '../../ingest/chainMaker.js'
import { optimismBlocks, optimismGenesis, skipsOptimism } from '../../ingest/optimismChain.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { startEngine } from '../../service/engineNode.js'
import { writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'

const zero = `0x${'00'.repeat(32)}`
const payee: Hex = `0x${'ab'.repeat(20)}`
const sender = privateKeyToAccount(`0x${'00'.repeat(31)}01`)
const rich = { balance: '0xde0b6b3a7640000' }

async function signed(chainId: number, nonce = 0): Promise<Hex> {
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n }
  return sender.signTransaction({
    chainId,
    type: 'eip1559',
    nonce,
    gas: 21_000n,
    to: payee,
    value: 1n,
    ...fees,
  })
}

t.test(
  'op-batcher limits the data of blocks on a network of the OP Stack',
  { skip: skipsOptimism },
  async (t) => {
    const genesis = JSON.parse(optimismGenesis('a'))
    genesis.alloc[sender.address.slice(2).toLowerCase()] = rich
    const path = writeInto(makeFolder(t), 'genesis.json', genesis)
    const node = await startEngine(t, { genesis: path })
    const call = async (method: string, params: readonly unknown[]) => node.service.call(method, params)
    t.match(await call('eth_sendRawTransaction', [await signed(genesis.config.chainId)]), { result: /^0x/ })
    const head = (await call('eth_getBlockByNumber', ['latest', false])).result
    const [, { rlp }] = optimismBlocks('a') as [unknown, { readonly rlp: string }]
    const [attributesDeposit] = rlpList(parseBlock(hexToBytes(rlp)).items[1]) as readonly Uint8Array[]
    let later = 0
    /** Transactions of a block that is built now. */
    const build = async () => {
      const attributes = {
        timestamp: toQuantity(Number(head.timestamp) + 2),
        // Other attributes are another build.
        prevRandao: `0x${(++later).toString(16).padStart(64, '0')}`,
        suggestedFeeRecipient: payee,
        transactions: [bytesToHex(attributesDeposit as Uint8Array)],
        noTxPool: false,
        gasLimit: head.gasLimit,
      }
      const state = { headBlockHash: head.hash, safeBlockHash: zero, finalizedBlockHash: zero }
      const { result } = await node.call('engine_forkchoiceUpdatedV1', [state, attributes])
      const built = await node.call('engine_getPayloadV2', [result.payloadId])
      return built.result.executionPayload.transactions.length
    }
    t.equal(await build(), 2)
    t.equal((await call('miner_setMaxDASize', ['0x63', '0x0'])).result, true)
    t.equal(await build(), 1, 'a transaction has 100 bytes at least')
    t.equal((await call('miner_setMaxDASize', ['0x0', '0x64'])).result, true)
    t.equal(await build(), 2)
    t.equal((await call('miner_setMaxDASize', ['0x0', '0x63'])).result, true)
    t.equal(await build(), 1)
    t.equal((await call('miner_setMaxDASize', ['0x0', '0x0'])).result, true)
    t.equal(await build(), 2)
    t.equal((await call('miner_setMaxDASize', ['1', '0x0'])).error?.code, -32602)
    t.equal(
      (await node.call('miner_setMaxDASize', ['0x0', '0x0'])).error?.code,
      -32601,
      'only on the public one',
    )
  },
)

t.test('nodes of "transactions.to" get what waits here, and nothing waits for them', async (t) => {
  const members = { difficulty: '0x0' }
  const genesis = testGenesis(mergedConfig(), members) as unknown as { alloc: Record<string, object> }
  genesis.alloc[sender.address.toLowerCase()] = rich
  const folder = makeFolder(t)
  const path = writeInto(folder, 'genesis.json', genesis)
  const receiver = await startEngine(t, { genesis: path })
  const jwtSecret = receiver.jwt
  const source = { type: 'consensus', port: 0, jwtSecret, transactions: { to: [receiver.service.origin] } }
  const config = writeConfig(folder, { networks: [{ name: 'engine', genesis: path, source }] })
  const node = await startService(['--config', config, '--data', join(folder, 'data'), '--no-auth'])
  t.teardown(() => node.stop())
  const raw = await signed(7357)
  const { result: hash } = await node.call('eth_sendRawTransaction', [raw])
  t.match(hash, /^0x/)
  const arrived = await waitFor('the transaction', async () => {
    const { result } = await receiver.service.call('eth_getTransactionByHash', [hash])
    return result ?? undefined
  })
  t.equal(arrived.blockHash, null)
  t.equal((await node.call('miner_setMaxDASize', ['0x0', '0x0'])).error?.code, -32601, 'there are no batches')
  const second = await node.call('eth_sendRawTransaction', [await signed(7357, 1)])
  await waitFor('the next one', async () => {
    const { result } = await receiver.service.call('eth_getTransactionByHash', [second.result])
    return result ?? undefined
  })
  await receiver.service.stop()
  const third = await node.call('eth_sendRawTransaction', [await signed(7357, 2)])
  t.match(third.result, /^0x/, 'a node that is away holds nothing up')
  await waitFor('the report', () => /waits here, and is not sent on/.test(node.said.err))
})
