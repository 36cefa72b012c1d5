/**
 * The rules that a transaction, or a message in its place, must keep to start: each has a name and go-ethereum's
 * message. Owns no faults: each caller adds its words to the message.
 */
import { type BlobParameters, type ForkName, includesFork } from '../chain/forks.js'
import { initcodeBytesMax, transactionGasMax } from '../chain/intrinsicGas.js'
import { toChecksumAddress } from '../primitives/checksumAddress.js'
import { RequestError } from '../primitives/faults.js'
import { type PricedTransaction, startGas } from './pricedTransaction.js'

/** A transaction that may not start. */
export class InvalidTransactionError extends RequestError {
  override readonly name = 'InvalidTransactionError'

  /** `rule` is the one that it breaks; undefined where it cannot even be read. */
  constructor(
    message: string,
    readonly rule?: RuleName,
  ) {
    super(message)
  }
}

/** Gas that the transactions before it used of the block's limit, by dimension (EIP-8037). */
export interface BlockGas {
  readonly executionGas: bigint
  readonly stateGas: bigint
}

/** What is checked. Rules about members that are absent are kept. */
export interface Candidate extends PricedTransaction {
  readonly gasLimit: bigint
  /** Balance in wei and nonce of the sender, and whether it has code of its own. */
  readonly balance?: bigint
  readonly nonce?: bigint
  readonly isContract?: boolean
  /** Gas used by its block before it, and the limits of the block's blobs. */
  readonly used?: BlockGas | undefined
  readonly blobs?: BlobParameters | undefined
  /** Whether it is one for a pool, whose messages differ. */
  readonly isForPool?: boolean
}

/** First fork of each type of transaction. */
export const typeForks: readonly ForkName[] = ['chainstart', 'berlin', 'london', 'cancun', 'prague']

const nonceMax = 2n ** 64n - 1n
const blobVersion = 1
/** EIP-7594. */
const blobsMax = 6

type Message = string | false | undefined

/** Returns the message of a rule that is broken. */
type Rule = (candidate: Candidate) => Message

/** The rules, in the order of core/state_transition.go. */
const rules = {
  type: ({ tx: { type }, block: { fork } }) =>
    type !== undefined &&
    !includesFork(fork, typeForks[type] as ForkName) &&
    'transaction type not supported',
  nonceTooLow: (c) => isLess(c.tx.nonce, c.nonce) && `nonce too low: ${nonces(c)}`,
  nonceTooHigh: (c) => isLess(c.nonce, c.tx.nonce) && `nonce too high: ${nonces(c)}`,
  nonceMax: (c) =>
    c.tx.nonce === nonceMax && `nonce has max value${c.isForPool ? '' : `: ${who(c)}, nonce: ${c.tx.nonce}`}`,
  // EIP-7825, EIP-8037.
  gasMax: ({ tx: { type }, gasLimit, block: { fork } }) =>
    type !== undefined &&
    gasLimit > transactionGasMax &&
    includesFork(fork, 'osaka') &&
    !includesFork(fork, 'amsterdam') &&
    `transaction gas limit too high (cap: ${transactionGasMax}, tx: ${gasLimit})`,
  // EIP-3607.
  eoa: (c) => c.isContract === true && `sender not an eoa: ${who(c)}`,
  tipAboveFeeCap: (c) =>
    hasMarket(c) &&
    c.tx.maxFeePerGas < c.tx.maxPriorityFeePerGas &&
    `max priority fee per gas higher than max fee per gas${c.isForPool ? '' : `: ${who(c)}, maxPriorityFeePerGas: ${c.tx.maxPriorityFeePerGas}, maxFeePerGas: ${c.tx.maxFeePerGas}`}`,
  feeCapTooLow: (c) =>
    hasMarket(c) &&
    c.tx.maxFeePerGas < c.block.baseFee &&
    `max fee per gas less than block base fee: ${who(c)}, maxFeePerGas: ${c.tx.maxFeePerGas}, baseFee: ${c.block.baseFee}`,
  accessListFork: (c) => c.tx.accessList !== undefined && unsupported(c, 'berlin', 'access list'),
  blobFork: (c) => c.tx.blobVersionedHashes !== undefined && unsupported(c, 'cancun', 'blob'),
  // EIP-4844, EIP-7594.
  blobCreation: ({ tx }) =>
    tx.blobVersionedHashes !== undefined && tx.to === undefined && 'blob transaction of type create',
  blobMissing: ({ tx, isForPool }) =>
    tx.blobVersionedHashes?.length === 0 &&
    (isForPool ? 'blobless blob transaction' : 'blob transaction missing blob hashes'),
  blobCount: ({ tx, block: { fork } }) =>
    blobsOf(tx) > blobsMax && includesFork(fork, 'osaka') && 'blob transaction has too many blobs',
  blobCountOfBlock: ({ tx, blobs }) => blobs !== undefined && blobsOf(tx) > blobs.max && 'too many blobs',
  blobVersion: ({ tx }) => {
    const wrong = tx.blobVersionedHashes?.findIndex((hash) => hash[0] !== blobVersion) ?? -1
    return wrong >= 0 && `blob ${wrong} has invalid hash version`
  },
  blobFeeCapTooLow: (c) =>
    blobsOf(c.tx) > 0 &&
    !c.hasFreeBlobs &&
    c.tx.maxFeePerBlobGas < c.block.blobBaseFee &&
    `max fee per blob gas less than block blob gas fee: ${who(c)} blobGasFeeCap: ${c.tx.maxFeePerBlobGas}, blobBaseFee: ${c.block.blobBaseFee}`,
  // EIP-7702.
  setCodeFork: (c) => c.tx.authorizationList !== undefined && unsupported(c, 'prague', 'setcode'),
  setCodeCreation: ({ tx }) =>
    tx.authorizationList !== undefined &&
    tx.to === undefined &&
    'EIP-7702 transaction cannot be used to create contract',
  setCodeMissing: ({ tx, isForPool }) =>
    tx.authorizationList?.length === 0 &&
    (isForPool
      ? 'set code tx must have at least one authorization tuple'
      : tx.type === undefined
        ? `EIP-7702 transaction with empty auth list (sender ${toChecksumAddress(tx.sender)})`
        : 'set code transaction with empty auth list'),
  funds: (c) => {
    const { tx, balance } = c
    const want = c.gasLimit * tx.maxFeePerGas + c.blobCostCap + tx.value
    if (!isLess(balance, want)) return undefined
    const lack = want < 2n ** 256n ? `have ${balance} want ${want}` : 'required balance exceeds 256 bits'
    return `insufficient funds for gas * price + value: ${who(c)} ${lack}`
  },
  blockGas: ({ gasLimit, used, block }) => {
    const isSplit = includesFork(block.fork, 'amsterdam') && gasLimit > transactionGasMax
    const gas = isSplit ? transactionGasMax : gasLimit
    return used !== undefined && gas > block.gasLimit - used.executionGas && 'gas limit reached'
  },
  blockStateGas: ({ gasLimit, used, block }) =>
    used !== undefined &&
    includesFork(block.fork, 'amsterdam') &&
    gasLimit > block.gasLimit - used.stateGas &&
    'state gas limit reached',
  intrinsicGas: ({ gasLimit, intrinsicGas, isForPool }) =>
    gasLimit < intrinsicGas && `intrinsic gas too low: ${shortOf(gasLimit, intrinsicGas, isForPool)}`,
  // EIP-7623.
  floorGas: ({ gasLimit, floorGas, isForPool }) =>
    gasLimit < floorGas &&
    `insufficient gas for floor data gas cost: ${shortOf(gasLimit, floorGas, isForPool)}`,
  // EIP-8037: no transaction may need more.
  startGasMax: (c) =>
    startGas(c) > transactionGasMax &&
    includesFork(c.block.fork, 'amsterdam') &&
    (c.tx.type === undefined || c.isForPool
      ? `insufficient gas for floor data gas cost: intrinsic cost ${c.intrinsicGas}, floor: ${c.floorGas}`
      : 'intrinsic gas or floor of data exceeds the maximum'),
  // EIP-3860.
  initcodeSize: ({ tx: { to, data }, block: { fork }, isForPool }) =>
    to === undefined &&
    data.length > initcodeBytesMax(fork) &&
    includesFork(fork, 'shanghai') &&
    `max initcode size exceeded: code size ${data.length}${isForPool ? ',' : ''} limit ${initcodeBytesMax(fork)}`,
} satisfies Record<string, Rule>

export type RuleName = keyof typeof rules

const allRules = Object.keys(rules) as readonly RuleName[]

/** Rules about what cannot be written as a transaction; calls check them before all others. */
export const writableRules: readonly RuleName[] = ['blobCreation', 'setCodeCreation']

/** Rules of core/txpool/validation.go, in its order, as far as they need no state and no settings. */
export const poolRules: readonly RuleName[] = [
  'initcodeSize',
  'gasMax',
  'tipAboveFeeCap',
  'nonceMax',
  'intrinsicGas',
  'floorGas',
  'startGasMax',
  'blobCreation',
  'blobMissing',
  'setCodeCreation',
  'setCodeMissing',
]

/** Throws {@link InvalidTransactionError} for the first of the rules that is broken. */
export function checkTransaction(candidate: Candidate, names: readonly RuleName[] = allRules): void {
  for (const name of names) {
    const why = (rules[name] as Rule)(candidate)
    if (typeof why === 'string') throw new InvalidTransactionError(why, name)
  }
}

function isLess(a: bigint | undefined, b: bigint | undefined): boolean {
  return a !== undefined && b !== undefined && a < b
}

function who({ tx }: Candidate): string {
  return `address ${toChecksumAddress(tx.sender)}`
}

function nonces(candidate: Candidate): string {
  return `${who(candidate)}, tx: ${candidate.tx.nonce} state: ${candidate.nonce}`
}

function hasMarket({ isFree, block }: Candidate): boolean {
  return !isFree && includesFork(block.fork, 'london')
}

function blobsOf({ blobVersionedHashes }: Candidate['tx']): number {
  return blobVersionedHashes?.length ?? 0
}

function shortOf(have: bigint, want: bigint, isForPool: boolean | undefined): string {
  return isForPool ? `gas ${have}, minimum needed ${want}` : `have ${have}, want ${want}`
}

function unsupported({ tx, block }: Candidate, since: ForkName, kind: string): Message {
  if (includesFork(block.fork, since)) return undefined
  return `transaction type not supported: ${kind} tx (sender ${toChecksumAddress(tx.sender)})`
}
