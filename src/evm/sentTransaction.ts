/**
 * Checks of a transaction that is sent to nodes: everything that go-ethereum's pool checks without state, with its
 * messages (core/txpool/validation.go, core/types/transaction.go). Does not own what depends on accounts, on fees of
 * the moment or on a node's settings, which the node decides.
 */
import { gasPerBlob } from '../chain/feeMarket.js'
import { type ForkName, includesFork } from '../chain/forks.js'
import { calldataFloorGas, initcodeBytesMax, intrinsicGas, transactionGasMax } from '../chain/intrinsicGas.js'
import { concatBytes, type Hash32 } from '../primitives/bytes.js'
import { decodeRlpList, RlpError, rlpSpanAt } from '../primitives/rlp.js'
import { refused } from './messageChecks.js'
import { RecoveredKeys } from './recoveredKeys.js'
import { InvalidSenderError, readSignedTransaction, type SignedTransaction } from './signedTransaction.js'
import { InvalidTransactionError, shapeOfTransaction } from './transaction.js'

/** Longest transaction that pools take (go-ethereum's txMaxSize); with blobs the second. */
const bytesMax = 128 * 1024
const blobBytesMax = 1024 * 1024
const blobType = 3
/** First fork of each type, with the name that messages give it. */
const forkOfType: readonly (readonly [fork: ForkName, name: string])[] = [
  ['chainstart', 'Frontier'],
  ['berlin', 'Berlin'],
  ['london', 'London'],
  ['cancun', 'Cancun'],
  ['prague', 'Prague'],
]
/** Parts of a transaction with blobs: EIP-4844 (fields, blobs, commitments, proofs), and EIP-7594 with a version. */
const blobPartsMin = 4
const blobPartsMax = 5
const nonceMax = 2n ** 64n - 1n
/** Holds nothing, so that it recovers. */
const keys = new RecoveredKeys()

/** A signed transaction as it was sent. */
export interface SentTransaction {
  readonly hash: Hash32
  /** 20 bytes. */
  readonly sender: Uint8Array
  readonly nonce: bigint
  readonly gasLimit: bigint
  /** Wei per gas; of types 0 and 1 the gas price. */
  readonly maxFeePerGas: bigint
  readonly blobCount: number
  /** Most wei that it takes from its sender. */
  readonly cost: bigint
  /** EIP-2718 bytes, or a list for legacy ones; with its blobs. */
  readonly raw: Uint8Array
  /** The same as blocks have it, without blobs. */
  readonly bytes: Uint8Array
}

/**
 * Reads a signed transaction (EIP-2718 bytes, or a list for legacy ones; with its blobs). Throws FaultError
 * MessageRefused where no block of this fork and chain may contain it, or pools take none such.
 */
export function checkSentTransaction(raw: Uint8Array, fork: ForkName, chainId: bigint): SentTransaction {
  const type = typeOf(raw)
  const sizeMax = type === blobType ? blobBytesMax : bytesMax
  if (raw.length > sizeMax) {
    throw refused(`oversized data: transaction size ${raw.length}, limit ${sizeMax}`)
  }
  const [since, name] = forkOfType[type] as (typeof forkOfType)[number]
  if (!includesFork(fork, since)) {
    throw refused(`transaction type not supported: type ${type} rejected, pool not yet in ${name}`)
  }
  const [tx, bytes] = reading(() => {
    const bytes = type === blobType ? withoutBlobs(raw) : raw
    const item = type === 0 ? decodeRlpList(bytes) : bytes
    return [readSignedTransaction(item, fork, chainId, keys), bytes] as const
  })
  checkFields(tx, fork)
  const { hash, sender, nonce, gasLimit, maxFeePerGas } = tx
  const blobCount = tx.blobVersionedHashes.length
  const cost = gasLimit * maxFeePerGas + tx.value + BigInt(blobCount) * gasPerBlob * tx.maxFeePerBlobGas
  return { hash, sender, nonce, gasLimit, maxFeePerGas, blobCount, cost, raw, bytes }
}

function typeOf(raw: Uint8Array): number {
  const [first = 0] = raw
  if (first > 0x7f) return 0
  if (raw.length <= 1) throw refused('typed transaction too short')
  if (first === 0 || first >= forkOfType.length) throw refused('transaction type not supported')
  return first
}

/** The transaction as it stands in a block. Its parts are not decoded, because blobs are long. */
function withoutBlobs(raw: Uint8Array): Uint8Array {
  const list = rlpSpanAt(raw, 1)
  const fields = rlpSpanAt(raw, list.payload, list.end)
  if (!fields.isList) throw refused('missing sidecar in blob transaction')
  let parts = 1
  let { end } = fields
  for (; end < list.end && parts < blobPartsMax; parts++) end = rlpSpanAt(raw, end, list.end).end
  if (end !== raw.length || parts < blobPartsMin) throw new RlpError('blobs without the right parts', end)
  return concatBytes(raw.subarray(0, 1), raw.subarray(fields.start, fields.end))
}

function reading<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof InvalidSenderError) throw refused(`invalid sender: ${error.message}`)
    if (error instanceof InvalidTransactionError) throw refused(error.message)
    if (error instanceof RlpError) throw refused(`not a transaction: ${error.message}`)
    throw error
  }
}

function checkFields(tx: SignedTransaction, fork: ForkName): void {
  const { type, to, data, gasLimit, nonce } = tx
  const sizeMax = initcodeBytesMax(fork)
  const hasStateGas = includesFork(fork, 'amsterdam')
  if (includesFork(fork, 'shanghai') && to === undefined && data.length > sizeMax) {
    throw refused(`max initcode size exceeded: code size ${data.length}, limit ${sizeMax}`)
  }
  if (includesFork(fork, 'osaka') && !hasStateGas && gasLimit > transactionGasMax) {
    throw refused(`transaction gas limit too high (cap: ${transactionGasMax}, tx: ${gasLimit})`)
  }
  if (tx.maxFeePerGas < tx.maxPriorityFeePerGas) {
    throw refused('max priority fee per gas higher than max fee per gas')
  }
  if (nonce === nonceMax) throw refused('nonce has max value')
  const shape = shapeOfTransaction(tx)
  const intrinsic = intrinsicGas(shape, fork)
  if (gasLimit < intrinsic) {
    throw refused(`intrinsic gas too low: gas ${gasLimit}, minimum needed ${intrinsic}`)
  }
  const floor = calldataFloorGas(shape, fork)
  if (gasLimit < floor) {
    throw refused(`insufficient gas for floor data gas cost: gas ${gasLimit}, minimum needed ${floor}`)
  }
  const least = intrinsic > floor ? intrinsic : floor
  if (hasStateGas && least > transactionGasMax) {
    throw refused(`insufficient gas for floor data gas cost: intrinsic cost ${intrinsic}, floor: ${floor}`)
  }
  if (to === undefined && type === blobType) throw refused('blob transaction of type create')
  if (type === blobType && tx.blobVersionedHashes.length === 0) throw refused('blobless blob transaction')
  if (type !== 4) return
  if (to === undefined) throw refused('EIP-7702 transaction cannot be used to create contract')
  if (tx.authorizationCount === 0) {
    throw refused('set code tx must have at least one authorization tuple')
  }
}
