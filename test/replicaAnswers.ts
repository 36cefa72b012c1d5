/** Whether processes that have the same blocks answer alike, byte for byte, over all methods that read them. */
import type { Test } from 'tap'
import { bytesToHex } from '../src/primitives/bytes.js'
import { contracts, type MadeBlock, testAddresses } from './chainMaker.js'
import type { Service } from './service.js'

const slot = `0x${'0'.repeat(63)}1`

/** A request of each method that reads what a block's hash names, or that takes a block. */
function readsAt({
  hash,
  block,
}: MadeBlock): readonly (readonly [method: string, params: readonly unknown[]])[] {
  const blockHash = bytesToHex(hash)
  const at = { blockHash }
  const [sender, receiver] = testAddresses.map(String)
  const call = { from: sender, to: contracts.store, data: `0x${'00'.repeat(63)}07` }
  const tracer = { tracer: 'callTracer' }
  const transactions = block.transactions.map((transaction) => bytesToHex(transaction.hash()))
  return [
    ['eth_getBlockByHash', [blockHash, true]],
    ['eth_getBlockByHash', [blockHash, false]],
    ['eth_getHeaderByHash', [blockHash]],
    ['eth_getBlockReceipts', [at]],
    ['eth_getBlockTransactionCountByHash', [blockHash]],
    ['eth_getUncleCountByBlockHash', [blockHash]],
    ['eth_getTransactionByBlockHashAndIndex', [blockHash, '0x0']],
    ['eth_getRawTransactionByBlockHashAndIndex', [blockHash, '0x0']],
    ['eth_getLogs', [at]],
    ['eth_getBalance', [receiver, at]],
    ['eth_getTransactionCount', [sender, at]],
    ['eth_getCode', [contracts.store, at]],
    ['eth_getStorageAt', [contracts.store, slot, at]],
    ['eth_getProof', [contracts.store, [slot], at]],
    ['eth_call', [call, at]],
    ['eth_estimateGas', [call, at]],
    ['eth_createAccessList', [call, at]],
    ['eth_simulateV1', [{ blockStateCalls: [{ calls: [call] }] }, at]],
    ['debug_getRawBlock', [at]],
    ['debug_getRawHeader', [at]],
    ['debug_getRawReceipts', [at]],
    ['debug_traceBlockByHash', [blockHash, tracer]],
    ['debug_traceCall', [call, at, tracer]],
    ...transactions.flatMap((transaction) =>
      [
        'eth_getTransactionByHash',
        'eth_getTransactionReceipt',
        'eth_getRawTransactionByHash',
        'debug_traceTransaction',
        'trace_transaction',
      ].map((method) => [method, [transaction]] as const),
    ),
  ]
}

async function answerOf(
  service: Service,
  [method, params]: readonly [string, readonly unknown[]],
): Promise<string> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return (await service.post('/', body)).text
}

/** Compares every answer at these blocks; returns how many there were. */
export async function compareAnswers(
  t: Test,
  blocks: readonly MadeBlock[],
  writer: Service,
  replicas: readonly Service[],
) {
  let answers = 0
  for (const block of blocks) {
    for (const read of readsAt(block)) {
      const want = await answerOf(writer, read)
      for (const replica of replicas) {
        answers++
        const got = await answerOf(replica, read)
        if (got !== want) t.equal(got, want, JSON.stringify(read))
      }
    }
  }
  return answers
}
