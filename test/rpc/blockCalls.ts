/** Questions about a block by nearly every method, for comparing stores of one chain. */
import type { Service } from '../service/service.js'
import { quantity } from './demoChain.js'
import type { Call } from './methodEntry.js'

/** Subjects of calls; addresses and slots in hex, none of them empty. */
export interface CallSubjects {
  readonly accounts: readonly string[]
  readonly contracts: readonly string[]
  readonly slots: readonly { readonly address: string; readonly slot: string }[]
  /** A message call. */
  readonly call: object
}

export interface AskedBlock {
  readonly number: number
  readonly hash: string
  readonly transactions: readonly { readonly hash: string }[]
}

/** Calls that need the state after a block, and its header. */
export function callsAt(
  { accounts, contracts, slots: known, call }: CallSubjects,
  { number, hash, transactions }: AskedBlock,
): Call[] {
  const block = quantity(number)
  const contract = contracts[number % contracts.length] as string
  const slots = known.map(({ slot }) => slot)
  return [
    ...[...accounts, ...contracts].flatMap((address): Call[] => [
      ['eth_getBalance', [address, block]],
      ['eth_getAccount', [address, { blockHash: hash }]],
      ['eth_getTransactionCount', [address, block]],
      ['ots_hasCode', [address, block]],
    ]),
    ...known.map(({ address, slot }): Call => ['eth_getStorageAt', [address, slot, block]]),
    ['eth_getStorageValues', [{ [contract]: slots }, block]],
    ['eth_getCode', [contract, block]],
    ['eth_getProof', [contract, slots, block]],
    ['eth_call', [call, block]],
    ...[1, 2, 7, 128, 255, 256, 257].map((back): Call => {
      const code = `0x61${back.toString(16).padStart(4, '0')}43034060005260206000f3`
      return ['eth_call', [{ to: `0x${'0e'.repeat(20)}` }, block, { [`0x${'0e'.repeat(20)}`]: { code } }]]
    }),
    ['eth_callMany', [[{ transactions: [call] }], { blockNumber: block }]],
    ['eth_estimateGas', [call, block]],
    ['eth_createAccessList', [call, block]],
    ['eth_simulateV1', [{ blockStateCalls: [{ calls: [{ to: contract }] }] }, block]],
    ['trace_call', [call, ['trace', 'vmTrace', 'stateDiff'], block]],
    ['trace_callMany', [[[call, ['trace']]], block]],
    ['debug_traceCall', [call, block, { tracer: 'prestateTracer' }]],
    ['debug_accountRange', [block, '0x', 20]],
    ['eth_getHeaderByNumber', [block]],
    ['eth_getHeaderByHash', [hash]],
    ['erigon_getHeaderByNumber', [block]],
    ['debug_getRawHeader', [block]],
    // The file from which a store starts contains the block itself.
    ['eth_getBlockByNumber', [block, true]],
    ['eth_getBlockByHash', [hash, false]],
    ['debug_getRawBlock', [block]],
    ['eth_getTransactionByBlockNumberAndIndex', [block, '0x0']],
    ['eth_getTransactionByBlockHashAndIndex', [hash, '0x0']],
    ['eth_getRawTransactionByBlockNumberAndIndex', [block, '0x0']],
    ['eth_getBlockTransactionCountByHash', [hash]],
    ['eth_getUncleCountByBlockNumber', [block]],
    ['eth_getUncleByBlockNumberAndIndex', [block, '0x0']],
    ['eth_getTransactionByHash', [transactions[0]?.hash ?? hash]],
    ['eth_feeHistory', ['0x1', block, []]],
    ['tidegate_getHeaderProof', [hash]],
  ]
}

/** Calls that need the receipts of a block, or the state before it, too. */
export function callsWithin({ contracts }: CallSubjects, { number, hash, transactions }: AskedBlock): Call[] {
  const block = quantity(number)
  const first = transactions[0]?.hash
  return [
    ['eth_getBlockReceipts', [block]],
    ['debug_getRawReceipts', [block]],
    ['eth_getLogs', [{ fromBlock: block, toBlock: block }]],
    ['eth_getLogs', [{ blockHash: hash }]],
    ['tidegate_getLogs', [{ fromBlock: block, limit: 5 }]],
    ['ots_getBlockDetails', [block]],
    ['ots_getBlockTransactions', [block, 0, 3]],
    ['eth_feeHistory', ['0x1', block, [10, 50]]],
    ['debug_traceBlockByNumber', [block, { tracer: 'callTracer' }]],
    ['trace_block', [block]],
    ['debug_intermediateRoots', [hash]],
    ['debug_getModifiedAccountsByNumber', [number]],
    ['debug_storageRangeAt', [hash, 0, contracts[0], '0x', 5]],
    ['trace_filter', [{ fromBlock: block, toBlock: block }]],
    ...(number % 16 === 0 ? ([['debug_executionWitness', [block]]] satisfies Call[]) : []),
    ...(first === undefined
      ? []
      : ([
          ['eth_getTransactionReceipt', [first]],
          ['debug_traceTransaction', [first, { tracer: 'prestateTracer' }]],
          ['trace_replayTransaction', [first, ['trace', 'stateDiff']]],
          ['ots_getInternalOperations', [first]],
        ] satisfies Call[])),
  ]
}

export interface NetworkAnswer {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** Asks a server about a network, in batches. */
export async function askNetwork(
  service: Pick<Service, 'post'>,
  network: string,
  calls: readonly Call[],
): Promise<NetworkAnswer[]> {
  const answers: NetworkAnswer[] = []
  for (let at = 0; at < calls.length; at += 25) {
    const body = calls
      .slice(at, at + 25)
      .map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }))
    const { text } = await service.post(`/${network}`, JSON.stringify(body))
    answers.push(...(JSON.parse(text) as NetworkAnswer[]))
  }
  return answers
}

/** The first calls whose answers differ, except for their ids. */
export function differencesOf(
  calls: readonly Call[],
  got: readonly NetworkAnswer[],
  want: readonly NetworkAnswer[],
): object[] {
  const differences = calls.flatMap((each, at) => {
    const [own, other] = [got[at], want[at]].map((answer) => JSON.stringify(answer?.error ?? answer?.result))
    return own === other
      ? []
      : [{ call: JSON.stringify(each).slice(0, 200), got: own?.slice(0, 300), want: other?.slice(0, 300) }]
  })
  return differences.slice(0, 5)
}
