/**
 * The reads that `tidegate_getVerified` proves: their parameters and results, and the jobs that prove them. The
 * client's checks are in `verify`.
 */
import type { BlockId } from '../../../data/chain/chainBlocks.js'
import type { FamilyProofs } from '../../../data/chain/families/family.js'
import { forkRules } from '../../../data/chain/forkRules.js'
import { decodeHeader } from '../../../data/chain/header.js'
import { type Address, bytesToHex, type Hash32 } from '../../../primitives/bytes.js'
import { depositType } from '../../../primitives/transactionTypes.js'
import { headProofMethod } from '../../../primitives/upstreamCalls.js'
import { itemOf, memberOf, withoutMembers } from '../answers/jsonMembers.js'
import type { RequestContext } from '../contexts/requestContext.js'
import { decodeParams, type Json, type Method, readOnce } from '../method.js'
import type { Network } from '../network.js'
import { blockId, position } from '../params/params.js'
import { minedBlock, stateBlock } from '../params/stateBlock.js'
import { accountMethods } from './accounts.js'
import { transactionMethods } from './transactions.js'

export interface VerifiedRead {
  /** In compute units. */
  readonly price: number
  /** The answer, or null if there is no such block. `params` are those of the read. */
  run(network: Network, params: readonly unknown[], context: RequestContext): Json | Promise<Json>
}

/** Reads two tries, as `eth_getProof` does. */
const statePrice = 25
/** Builds the trie of all transactions or all receipts of a block: 2 ms and 7 ms for 200. */
const transactionPrice = 200
const receiptPrice = 700

/** For a new checkpoint, a beacon node sends at least 50 KB. */
export const headProofPrice = 500

const inBlock = { params: [blockId({ acceptsHash: true }), position], byName: false }
const inReceipt = { ...inBlock, params: [...inBlock.params, position] }

const stateReads = ['eth_getBalance', 'eth_getTransactionCount', 'eth_getCode', 'eth_getStorageAt'] as const
const transactionReads = [
  'eth_getTransactionByBlockHashAndIndex',
  'eth_getTransactionByBlockNumberAndIndex',
] as const

/** Name of the method whose result has the same form → the read. A receipt is named by its block and index. */
export const verifiedReads: ReadonlyMap<string, VerifiedRead> = new Map<string, VerifiedRead>([
  ...stateReads.map((name) => [name, stateRead(accountMethods[name])] as const),
  ...transactionReads.map((name) => [name, transactionRead(transactionMethods[name])] as const),
  ['eth_getTransactionReceipt', receiptRead(inBlock, (receipt) => receipt)],
  [
    'eth_getLogs',
    receiptRead(inReceipt, (receipt, place) => itemOf(receipt, 'logs', place as number) ?? 'null'),
  ],
])

/** A read of an account at the block of the last parameter. */
function stateRead(method: Method<Network>): VerifiedRead {
  const run: VerifiedRead['run'] = (network, params, context) => {
    const { chain, state, jobs } = network
    const args = decodeParams(method, params)
    const last = args.length - 1
    const block = stateBlock(chain, args[last] as BlockId, last, ['state', 'trie'])
    const { number, hash } = block
    const id: BlockId = { kind: 'hash', hash, requireCanonical: false }
    const result = method.run(
      network,
      [...args.slice(0, last), id],
      context,
      Number.POSITIVE_INFINITY,
      readOnce,
    )
    const before = answerStart(hash, chain.readRawHeader(hash), result as Json)
    const keys = last === 2 ? [{ slot: args[1] as Hash32, writtenBytes: 32 }] : []
    const stateRoot = state.stateRootAfter(block)
    const proof = { number, block: hash, stateRoot, address: args[0] as Address, keys }
    return jobs.run('prove', proof, context).then((json) => joined(before, ',"proof":', json, '}'))
  }
  return { price: statePrice, run }
}

function transactionRead(method: Method<Network>): VerifiedRead {
  const run: VerifiedRead['run'] = (network, params, context) => {
    const [block, index] = decodeParams(method, params) as [Hash32 | BlockId, number]
    const hash = block instanceof Uint8Array ? block : minedBlock(network.chain, block)?.hash
    if (hash === undefined) return 'null'
    const json = network.chain.transactionJson(hash, index)
    // The receipt, not the transaction, contains the nonce of a transaction without a signature.
    const isReported = proofsOf(network.chain, hash)?.receiptTail && json !== undefined && isForced(json)
    const result = isReported ? withoutMembers(json, ['nonce', 'depositReceiptVersion']) : (json ?? 'null')
    return proveIndex(network, { hash, index, withReceipts: false }, result, context)
  }
  return { price: transactionPrice, run }
}

/** A read of a receipt, or of the part that `part` selects. */
function receiptRead(
  shape: Parameters<typeof decodeParams>[0],
  part: (receipt: Uint8Array, place: number | undefined) => Json,
): VerifiedRead {
  const run: VerifiedRead['run'] = (network, params, context) => {
    const { chain } = network
    const [id, index, place] = decodeParams(shape, params) as [BlockId, number, number | undefined]
    const hash = minedBlock(chain, id)?.hash
    const block = hash && chain.readBlock(hash)
    if (hash === undefined || block === undefined || chain.readReceipts(hash) === undefined) return 'null'
    const request = { hash, index, withReceipts: true }
    if (index >= block.transactionCount) return proveIndex(network, request, 'null', context)
    // The price of blob gas depends on the network's forks, which no header contains, so it cannot be proved. Other
    // members follow from other transactions, or are stored beside the receipt and not covered by its root.
    const others = Object.keys(proofsOf(chain, hash)?.receiptForms ?? {})
    const json = chain.receiptJson({ blockHash: hash, index })
    if (json === undefined) return proveIndex(network, request, 'null', context)
    const isReported = isForced(json) && memberOf(json, 'depositReceiptVersion') === undefined
    const left = ['blobGasPrice', ...others, ...(isReported ? ['depositNonce', 'contractAddress'] : [])]
    return proveIndex(network, request, part(withoutMembers(json, left), place), context)
  }
  return { price: receiptPrice, run }
}

/** The parts of a block that a root covers, and how. */
function proofsOf(chain: Network['chain'], hash: Hash32): FamilyProofs | undefined {
  const header = chain.readRawHeader(hash)
  return header && forkRules(chain.schedule.forkOf(decodeHeader(header))).proofs
}

function isForced(transaction: Uint8Array): boolean {
  const { at = 0, end = 0 } = memberOf(transaction, 'type')?.value ?? {}
  return Number(Buffer.from(transaction.subarray(at + 1, end - 1)).toString()) === depositType.number
}

function proveIndex(
  { chain, jobs }: Network,
  request: { readonly hash: Hash32; readonly index: number; readonly withReceipts: boolean },
  result: Json,
  context: RequestContext,
): Json | Promise<Json> {
  const header = chain.readRawHeader(request.hash)
  if (header === undefined) return 'null'
  const before = answerStart(request.hash, header, result)
  // The members of the job's object follow.
  return jobs.run('indexProof', request, context).then((json) => joined(before, ',', json.subarray(1)))
}

/** Adds the proof of the block for a client that trusts the checkpoint; null if the block is no recent signed head. */
export async function withHeadProof(
  { upstreamCalls }: Network,
  checkpoint: Hash32,
  answer: Json | Promise<Json>,
): Promise<Json> {
  const whole = joined(await answer)
  if (whole.length <= answerEnd) return whole
  // The layout is that of answerStart.
  const blockHash = Buffer.from(whole.subarray(answerEnd - 66, answerEnd)).toString()
  const params = JSON.stringify([bytesToHex(checkpoint), blockHash])
  const proof = (await upstreamCalls?.relay(headProofMethod, params)) ?? 'null'
  return joined(whole.subarray(0, -1), ',"headProof":', proof, '}')
}

/** Length of `{"blockHash":"` and the hash after it. */
const answerEnd = 80

function answerStart(hash: Hash32, header: Uint8Array | undefined, result: Json): Uint8Array {
  if (header === undefined) throw new Error('a resolved block has no header')
  return joined(`{"blockHash":"${bytesToHex(hash)}","header":"${bytesToHex(header)}","result":`, result)
}

function joined(...parts: readonly Json[]): Uint8Array {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
}
