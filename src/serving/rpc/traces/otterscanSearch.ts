/**
 * Transactions of an address, for Otterscan's pages. The history of accounts lists the blocks that changed the account;
 * a search traces those blocks. It misses a transaction that calls an address without changing its account, unless the
 * block changed the account otherwise.
 */
import type { ChainView } from '../../../data/chain/chain.js'
import { firstBlockWhere } from '../../../data/chain/findSent.js'
import type { TransactionLocation } from '../../../data/chain/findTransaction.js'
import { hasCode } from '../../../data/state/account.js'
import type { TracerOptions } from '../../../execution/evm/tracers/tracerOptions.js'
import { type Address, bytesToHex, type Hash32 } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { JsonStream } from '../answers/jsonStream.js'
import type { RequestContext } from '../contexts/requestContext.js'
import type { JobNetwork } from '../network.js'
import {
  addressSchema,
  booleanSchema,
  hashSchema,
  listSchema,
  objectSchema,
  type Schema,
} from '../params/schema.js'
import { traceJson } from './traceJob.js'

/** Maximum transactions of a page, erigon's default. A page is longer if its last block has more. */
export const searchPageMax = 25
/** Maximum blocks that a search traces: about 10 s if each has 200 transactions. */
const tracedMax = 100
/** Maximum changes that a search reads; blocks without transactions need no trace. */
const changesMax = 1_000
/** Maximum bytes of a block's trace: 100,000 transactions. */
const traceBytesMax = 10 * 2 ** 20

export const searchSchema: Schema = objectSchema('TransactionsWithReceipts', {
  txs: listSchema({ type: 'object' }),
  receipts: listSchema({ type: 'object' }),
  firstPage: booleanSchema,
  lastPage: booleanSchema,
})
export const creatorSchema: Schema = objectSchema('ContractCreator', {
  hash: hashSchema,
  creator: addressSchema,
})

interface Search {
  readonly address: Address
  /** The search starts at the block next to this one; 0 searches all blocks. */
  readonly number: number
  readonly pageSize: number
  readonly isBackward: boolean
}

/** A page of an address's transactions, the newest first, as in erigon's answer. */
export async function searchJson(
  network: JobNetwork,
  search: Search,
  context: RequestContext,
): Promise<string> {
  const { chain } = network
  const { number, pageSize, isBackward } = search
  const { hashes, isWhole } = changedBlocks(network, search)
  const found: TransactionLocation[] = []
  let at = 0
  for (; at < hashes.length && found.length < pageSize; at++) {
    const blockHash = hashes[at] as Hash32
    const touched = await traceBlock<boolean>(
      network,
      blockHash,
      { tracer: 'addressTouched', address: search.address },
      context,
    )
    const ofBlock = touched.flatMap(({ result }, index) => (result ? [{ blockHash, index }] : []))
    for (const one of isBackward ? ofBlock.reverse() : ofBlock) found.push(one)
  }
  if (!isBackward) found.reverse()
  const isEnd = isWhole && at === hashes.length
  const isStart = number === 0
  const [firstPage, lastPage] = isBackward ? [isStart, isEnd] : [isEnd, isStart]
  const pairs = found.map((location) => readPair(chain, location))
  const [txs, receipts] = [0, 1].map((at) => pairs.map((pair) => pair[at]).join())
  return `{"txs":[${txs}],"receipts":[${receipts}],"firstPage":${firstPage},"lastPage":${lastPage}}`
}

/** Blocks with transactions that changed the account, in the order of the search, and whether there are no more. */
function changedBlocks(
  { chain, state }: JobNetwork,
  { address, number, isBackward }: Search,
): { readonly hashes: readonly Hash32[]; readonly isWhole: boolean } {
  requireHistory(chain)
  const { head } = chain
  const from = isBackward ? (number === 0 ? head.number : number - 1) : Math.min(number, head.number) + 1
  const changes = state.readAccountChanges(head, address, from, isBackward, changesMax)
  const hashes: Hash32[] = []
  const { firstExecutable } = chain
  for (const change of changes) {
    if (change < firstExecutable) continue
    const block = chain.resolve({ kind: 'number', number: change }, 0)
    // The genesis block has no transactions.
    if (block === undefined || (chain.readBlock(block.hash)?.transactionCount ?? 0) === 0) continue
    if (hashes.length === tracedMax) return { hashes, isWhole: false }
    hashes.push(block.hash)
  }
  return { hashes, isWhole: changes.length < changesMax && (firstExecutable === 0 || !isBackward) }
}

/** A transaction, and its receipt with the time of its block. */
function readPair(chain: ChainView, location: TransactionLocation): readonly [string, string] {
  const { blockHash, index } = location
  const receipt = textOf(chain.receiptJson(location))
  const timestamp = chain.readHeader(blockHash)?.timestamp
  return [
    textOf(chain.transactionJson(blockHash, index)),
    `${receipt.slice(0, -1)},"timestamp":${timestamp}}`,
  ]
}

/**
 * The creator of a contract, and the hash of the transaction. Null for an address without code of its own and for a
 * contract of the genesis block. A contract that was destroyed and created again may get any of its creations.
 */
export async function creatorJson(
  network: JobNetwork,
  address: Address,
  context: RequestContext,
): Promise<string> {
  const { chain, state } = network
  requireHistory(chain)
  const block = firstBlockWhere(
    chain,
    (each) => hasCode(state.readAccount(each, address)),
    // To find a creation within a block, the block has to be executed.
    ({ number: oldest }) => {
      throw new FaultError({ kind: 'HistoryPruned', oldest, needsParent: true })
    },
  )
  if (block === undefined || block.number === 0) return 'null'
  const text = bytesToHex(address)
  const receipts = JSON.parse(textOf(chain.receiptsJson(block.hash))) as readonly Receipt[]
  const own = receipts.find(({ contractAddress, status }) => contractAddress === text && status !== '0x0')
  if (own !== undefined) return JSON.stringify({ hash: own.transactionHash, creator: own.from })
  const operations = await traceBlock<readonly Operation[]>(
    network,
    block.hash,
    { tracer: 'otterscanOperations' },
    context,
  )
  for (const { txHash, result } of operations.reverse()) {
    const creation = result.find(({ type, to }) => type >= firstCreation && to === text)
    if (creation !== undefined) return JSON.stringify({ hash: txHash, creator: creation.from })
  }
  return 'null'
}

interface Receipt {
  readonly transactionHash: string
  readonly from: string
  readonly contractAddress: string | null
  readonly status?: string
}

/** An item of `ots_getInternalOperations`. */
interface Operation {
  readonly type: number
  readonly from: string
  readonly to: string
}

/** This type and higher ones are creations. */
const firstCreation = 2

interface Traced<T> {
  readonly txHash: string
  readonly result: T
}

async function traceBlock<T>(
  network: JobNetwork,
  blockHash: Hash32,
  tracer: TracerOptions,
  context: RequestContext,
): Promise<Traced<T>[]> {
  const traced = await traceJson(network, { kind: 'block', blockHash }, { tracer }, context)
  const json = traced instanceof JsonStream ? await traced.collect(traceBytesMax) : traced
  return JSON.parse(textOf(json)) as Traced<T>[]
}

/** Throws FaultError if the network does not store the history of accounts. */
function requireHistory({ kind: { state } }: ChainView): void {
  if (state === 'none') throw new FaultError({ kind: 'NoState' })
  if (state === 'proved') throw new FaultError({ kind: 'NoAccountHistory' })
}

/** Throws FaultError if a part of a block is missing. */
function textOf(json: Uint8Array | undefined): string {
  if (json === undefined) throw new FaultError({ kind: 'HeaderForHashNotFound' })
  return Buffer.from(json).toString()
}
