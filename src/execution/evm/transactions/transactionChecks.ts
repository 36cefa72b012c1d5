/**
 * The rules that a transaction, or a message in its place, must satisfy to start: each has a name and go-ethereum's
 * message. Owns no faults: each caller adds its words to the message.
 */
import { forkRules } from '../../../data/chain/forkRules.js'
import { type BlobParameters, type ForkName, includesFork } from '../../../data/chain/forks.js'
import {
  initcodeBytesMax,
  transactionGasMax,
  transactionTotalGasMax,
} from '../../../data/chain/intrinsicGas.js'
import { toChecksumAddress } from '../../../primitives/addresses.js'
import { RequestError } from '../../../primitives/faults.js'
import type { BlockRules } from '../blocks/blockContext.js'
import { nonceMax } from './authorizations.js'
import { type PricedTransaction, startGas, type Transaction } from './pricedTransaction.js'

export class InvalidTransactionError extends RequestError {
  override readonly name = 'InvalidTransactionError'

  /** `rule` is the broken rule; undefined if the transaction cannot even be decoded. */
  constructor(
    message: string,
    readonly rule?: RuleName,
  ) {
    super(message)
  }
}

/** Gas that the earlier transactions of the block used, by dimension (EIP-8037). */
export interface BlockGas {
  readonly executionGas: bigint
  readonly stateGas: bigint
}

/** Further inputs of the rules. Rules about absent members pass. */
interface StartFacts {
  readonly gasLimit: bigint
  /** Balance in wei and nonce of the sender, and whether it has code of its own. */
  readonly balance?: bigint
  readonly nonce?: bigint
  readonly isContract?: boolean
  /** Gas used by its block before it, and the limits of the block's blobs. */
  readonly used?: BlockGas | undefined
  readonly blobs?: BlobParameters | undefined
  /** Whether it is for a pool, whose messages differ. */
  readonly isForPool?: boolean
}

const blobVersion = 1
/** EIP-7594. */
export const blobsMax = 6

type Message = string | false | undefined

type Rule = (priced: PricedTransaction, facts: StartFacts) => Message

/** The rules, in the order of core/state_transition.go. */
const rules = {
  type: ({ tx: { type }, block }) => {
    const since = type === undefined ? undefined : forkRules(block.fork).transactionTypes.get(type)?.since
    return since !== undefined && !includesFork(block.fork, since) && 'transaction type not supported'
  },
  nonceTooLow: ({ tx }, { nonce }) => isLess(tx.nonce, nonce) && `nonce too low: ${nonces(tx, nonce)}`,
  nonceTooHigh: ({ tx }, { nonce }) => isLess(nonce, tx.nonce) && `nonce too high: ${nonces(tx, nonce)}`,
  nonceMax: ({ tx }, { isForPool }) =>
    tx.nonce === nonceMax && `nonce has max value${isForPool ? '' : `: ${who(tx)}, nonce: ${tx.nonce}`}`,
  // EIP-7825, EIP-8037. Messages are no transactions, as in go-ethereum.
  gasMax: ({ tx, block: { fork } }, { gasLimit }) => {
    if (tx.type === undefined || !includesFork(fork, 'osaka')) return undefined
    const cap = includesFork(fork, 'amsterdam') ? transactionTotalGasMax : transactionGasMax
    return gasLimit > cap && `transaction gas limit too high (cap: ${cap}, tx: ${gasLimit})`
  },
  // The rule of EIP-3607. A developer chain has transactions of contracts, too.
  eoa: ({ tx }, { isContract }) => isContract === true && `sender not an eoa: ${who(tx)}`,
  tipAboveFeeCap: (priced, { isForPool }) => {
    const { tx } = priced
    if (!paysFees(priced) || tx.maxFeePerGas >= tx.maxPriorityFeePerGas) return undefined
    const why = 'max priority fee per gas higher than max fee per gas'
    if (isForPool) return why
    return `${why}: ${who(tx)}, maxPriorityFeePerGas: ${tx.maxPriorityFeePerGas}, maxFeePerGas: ${tx.maxFeePerGas}`
  },
  feeCapTooLow: (priced) => {
    const { tx, block } = priced
    if (!paysFees(priced) || tx.maxFeePerGas >= block.baseFee) return undefined
    return `max fee per gas less than block base fee: ${who(tx)}, maxFeePerGas: ${tx.maxFeePerGas}, baseFee: ${block.baseFee}`
  },
  accessListFork: (priced) =>
    priced.tx.accessList !== undefined && unsupported(priced, 'berlin', 'access list'),
  blobFork: (priced) => priced.tx.blobVersionedHashes !== undefined && unsupported(priced, 'cancun', 'blob'),
  // EIP-4844, EIP-7594.
  blobCreation: ({ tx }) =>
    tx.blobVersionedHashes !== undefined && tx.to === undefined && 'blob transaction of type create',
  blobMissing: ({ tx }, { isForPool }) =>
    tx.blobVersionedHashes?.length === 0 &&
    (isForPool ? 'blobless blob transaction' : 'blob transaction missing blob hashes'),
  blobCount: ({ tx, block }) =>
    blobsOf(tx) > blobsMax && includesFork(block.fork, 'osaka') && 'blob transaction has too many blobs',
  blobCountOfBlock: ({ tx }, { blobs }) => blobs !== undefined && blobsOf(tx) > blobs.max && 'too many blobs',
  blobVersion: ({ tx }) => {
    const wrong = tx.blobVersionedHashes?.findIndex((hash) => hash[0] !== blobVersion) ?? -1
    return wrong >= 0 && `blob ${wrong} has invalid hash version`
  },
  blobFeeCapTooLow: ({ tx, block, hasFreeBlobs }) =>
    blobsOf(tx) > 0 &&
    !hasFreeBlobs &&
    tx.maxFeePerBlobGas < block.blobBaseFee &&
    `max fee per blob gas less than block blob gas fee: ${who(tx)} blobGasFeeCap: ${tx.maxFeePerBlobGas}, blobBaseFee: ${block.blobBaseFee}`,
  // EIP-7702.
  setCodeFork: (priced) =>
    priced.tx.authorizationList !== undefined && unsupported(priced, 'prague', 'setcode'),
  setCodeCreation: ({ tx }) =>
    tx.authorizationList !== undefined &&
    tx.to === undefined &&
    'EIP-7702 transaction cannot be used to create contract',
  setCodeMissing: ({ tx }, { isForPool }) => {
    if (tx.authorizationList?.length !== 0) return undefined
    if (isForPool) return 'set code tx must have at least one authorization tuple'
    if (tx.type !== undefined) return 'set code transaction with empty auth list'
    return `EIP-7702 transaction with empty auth list (sender ${toChecksumAddress(tx.sender)})`
  },
  funds: ({ tx, blobCostCap, fees }, { gasLimit, balance }) => {
    const want = gasLimit * tx.maxFeePerGas + blobCostCap + tx.value + (fees?.taken(gasLimit) ?? 0n)
    if (!isLess(balance, want)) return undefined
    const lack = want < 2n ** 256n ? `have ${balance} want ${want}` : 'required balance exceeds 256 bits'
    return `insufficient funds for gas * price + value: ${who(tx)} ${lack}`
  },
  blockGas: ({ block }, { gasLimit, used }) =>
    used !== undefined && !fitsExecutionGas(block, gasLimit, used) && 'gas limit reached',
  blockStateGas: ({ block }, { gasLimit, used }) =>
    used !== undefined && !fitsStateGas(block, gasLimit, used) && 'state gas limit reached',
  intrinsicGas: ({ intrinsicGas }, { gasLimit, isForPool }) =>
    gasLimit < intrinsicGas && `intrinsic gas too low: ${shortOf(gasLimit, intrinsicGas, isForPool)}`,
  // EIP-7623.
  floorGas: ({ floorGas }, { gasLimit, isForPool }) =>
    gasLimit < floorGas &&
    `insufficient gas for floor data gas cost: ${shortOf(gasLimit, floorGas, isForPool)}`,
  // EIP-8037: no transaction may need more.
  startGasMax: (priced, { isForPool }) => {
    if (!priced.isCapped || !includesFork(priced.block.fork, 'amsterdam')) return undefined
    if (startGas(priced) <= transactionGasMax) return undefined
    return priced.tx.type === undefined || isForPool
      ? `insufficient gas for floor data gas cost: intrinsic cost ${priced.intrinsicGas}, floor: ${priced.floorGas}`
      : 'intrinsic gas or floor of data exceeds the maximum'
  },
  // EIP-3860.
  initcodeSize: ({ tx: { to, data }, block: { fork } }, { isForPool }) =>
    to === undefined &&
    data.length > initcodeBytesMax(fork) &&
    includesFork(fork, 'shanghai') &&
    `max initcode size exceeded: code size ${data.length}${isForPool ? ',' : ''} limit ${initcodeBytesMax(fork)}`,
} satisfies Record<string, Rule>

export type RuleName = keyof typeof rules

const namedRules = (...names: readonly RuleName[]) =>
  names.map((name) => [name, rules[name] as Rule] as const)

const stateRules = namedRules(...(Object.keys(rules) as RuleName[]))

/** Rules about messages that cannot be encoded as a transaction; calls check them before all others. */
export const writableRules = namedRules('blobCreation', 'setCodeCreation')

/** Rules of core/txpool/validation.go, in its order, except those that need state or settings. */
export const poolRules = namedRules(
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
)

/** Throws {@link InvalidTransactionError} for the first rule that is broken. */
export function checkTransaction(priced: PricedTransaction, facts: StartFacts, named = stateRules): void {
  for (const [name, rule] of named) {
    const why = rule(priced, facts)
    if (typeof why === 'string') throw new InvalidTransactionError(why, name)
  }
}

/** Whether a transaction with this gas limit may follow earlier ones of its block, which used `used` (EIP-8037). */
export function fitsBlock(
  block: Pick<BlockRules, 'fork' | 'gasLimit'>,
  gasLimit: bigint,
  used: BlockGas,
): boolean {
  return fitsExecutionGas(block, gasLimit, used) && fitsStateGas(block, gasLimit, used)
}

function fitsExecutionGas(
  block: Pick<BlockRules, 'fork' | 'gasLimit'>,
  gasLimit: bigint,
  used: BlockGas,
): boolean {
  const isSplit = gasLimit > transactionGasMax && includesFork(block.fork, 'amsterdam')
  return (isSplit ? transactionGasMax : gasLimit) <= block.gasLimit - used.executionGas
}

function fitsStateGas(
  block: Pick<BlockRules, 'fork' | 'gasLimit'>,
  gasLimit: bigint,
  used: BlockGas,
): boolean {
  return gasLimit <= block.gasLimit - used.stateGas || !includesFork(block.fork, 'amsterdam')
}

function isLess(a: bigint | undefined, b: bigint | undefined): boolean {
  return a !== undefined && b !== undefined && a < b
}

function who({ sender }: Transaction): string {
  return `address ${toChecksumAddress(sender)}`
}

function nonces(tx: Transaction, nonce: bigint | undefined): string {
  return `${who(tx)}, tx: ${tx.nonce} state: ${nonce}`
}

function paysFees({ isFree, block }: PricedTransaction): boolean {
  return !isFree && includesFork(block.fork, 'london')
}

function blobsOf({ blobVersionedHashes }: Transaction): number {
  return blobVersionedHashes?.length ?? 0
}

function shortOf(have: bigint, want: bigint, isForPool: boolean | undefined): string {
  return isForPool ? `gas ${have}, minimum needed ${want}` : `have ${have}, want ${want}`
}

function unsupported({ tx, block }: PricedTransaction, since: ForkName, kind: string): Message {
  if (includesFork(block.fork, since)) return undefined
  return `transaction type not supported: ${kind} tx (sender ${toChecksumAddress(tx.sender)})`
}
