/** Checks that processes with the same blocks give equal answers, byte for byte, over all methods that read blocks. */
import type { Test } from 'tap'
import { bytesToHex } from '../../src/primitives/bytes.js'
import { contracts, testAddresses } from '../ingest/chainMaker.js'
import type { PlayedBlock } from '../ingest/replayedChain.js'
import type { Service } from '../service/service.js'

export type Read = readonly [method: string, params: readonly unknown[]]

/** Transactions of a block that are requested separately: each trace of one executes those before it again. */
const transactionsMax = 3

/** An account and one of its slots. */
export interface Place {
  readonly address: string
  readonly slot: string
}

/** Subjects of questions about state: places, and a call. */
export interface Subjects {
  readonly places: readonly Place[]
  readonly call: { readonly from: string; readonly to: string; readonly data: string }
}

const slot = `0x${'0'.repeat(63)}1`
const [sender, receiver] = testAddresses.map(String) as [string, string]

/** Subjects of the chains that `chainMaker.ts` makes. */
const madeSubjects: Subjects = {
  places: [sender, receiver, contracts.store].map((address) => ({ address, slot })),
  call: { from: sender, to: contracts.store, data: `0x${'00'.repeat(63)}07` },
}

/** A request of each method that reads by a block's hash, or that takes a block. */
function readsAt(blockHash: string, transactions: readonly string[], { places, call }: Subjects): Read[] {
  const at = { blockHash }
  const tracer = { tracer: 'callTracer' }
  return [
    ['eth_getBlockByHash', [blockHash, true]],
    ['eth_getBlockByHash', [blockHash, false]],
    ['eth_getHeaderByHash', [blockHash]],
    ['eth_getBlockReceipts', [at]],
    ['eth_getBlockTransactionCountByHash', [blockHash]],
    ['eth_getUncleCountByBlockHash', [blockHash]],
    ['eth_getTransactionByBlockHashAndIndex', [blockHash, '0x0']],
    ['eth_getRawTransactionByBlockHashAndIndex', [blockHash, '0x0']],
    ['eth_getBlockAccessList', [at]],
    ['eth_getLogs', [at]],
    ['eth_call', [call, at]],
    ['eth_estimateGas', [call, at]],
    ['eth_createAccessList', [call, at]],
    ['eth_simulateV1', [{ blockStateCalls: [{ calls: [call] }] }, at]],
    ['debug_getRawBlock', [at]],
    ['debug_getRawBlockAccessList', [at]],
    ['debug_getRawHeader', [at]],
    ['debug_getRawReceipts', [at]],
    ['debug_traceBlockByHash', [blockHash, tracer]],
    ['debug_traceCall', [call, at, tracer]],
    ...places.flatMap(({ address, slot }): Read[] => [
      ['eth_getBalance', [address, at]],
      ['eth_getTransactionCount', [address, at]],
      ['eth_getCode', [address, at]],
      ['eth_getStorageAt', [address, slot, at]],
      ['eth_getProof', [address, [slot], at]],
    ]),
    ...transactions.flatMap((transaction) =>
      [
        'eth_getTransactionByHash',
        'eth_getTransactionReceipt',
        'eth_getRawTransactionByHash',
        'debug_traceTransaction',
        'trace_transaction',
      ].map((method): Read => [method, [transaction]]),
    ),
  ]
}

/** Subjects of questions about a block, from its JSON at `node`; by default for chains that `chainMaker.ts` makes. */
// biome-ignore lint/suspicious/noExplicitAny: JSON.
export type SubjectsAt = (node: Service, block: any) => Subjects | Promise<Subjects>

/** All questions about a block of `node`. */
export async function readsOf(
  hash: string,
  node: Service,
  subjectsAt: SubjectsAt = () => madeSubjects,
): Promise<Read[]> {
  const { result } = await node.call('eth_getBlockByHash', [hash, true])
  const transactions: { readonly hash: string }[] = result.transactions.slice(0, transactionsMax)
  return readsAt(
    hash,
    transactions.map(({ hash }) => hash),
    await subjectsAt(node, result),
  )
}

async function answerOf(service: Service, [method, params]: Read): Promise<string> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return (await service.post('/', body)).text
}

/** Compares every answer at these blocks, and returns the number of answers. */
export async function compareAnswers(
  t: Test,
  blocks: readonly Pick<PlayedBlock, 'hash'>[],
  writer: Service,
  replicas: readonly Service[],
  subjectsAt?: SubjectsAt,
) {
  let answers = 0
  for (const block of blocks) {
    for (const read of await readsOf(bytesToHex(block.hash), writer, subjectsAt)) {
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
