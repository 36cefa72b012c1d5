/**
 * Runs a transaction, or a message in its place, on the kernel: pays for it, runs its frame and settles its gas. Yellow
 * paper, section 6. Blocks, calls, estimates, simulations and traces all use it. Does not own the rules for a start
 * (transactionChecks.ts), nor warm accounts, authorizations and state gas (outermostFrame.ts).
 */
import { forkRules } from '../../../data/chain/forkRules.js'
import { type BlobParameters, includesFork } from '../../../data/chain/forks.js'
import { initcodeBytesMax } from '../../../data/chain/intrinsicGas.js'
import { noBytes, zeroAddress } from '../../../primitives/bytes.js'
import type { RlpItem } from '../../../primitives/rlp.js'
import type { BlockRules } from '../blocks/blockContext.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { Kernel } from '../engine/kernel.js'
import { isDelegation, type SignedAuthorization } from './authorizations.js'
import { type FrameOutcome, runOutermostFrame } from './outermostFrame.js'
import { type PricedTransaction, priceTransaction, startGas, type Transaction } from './pricedTransaction.js'
import { type BlockGas, checkTransaction, fitsBlock, InvalidTransactionError } from './transactionChecks.js'

/** The opcode that a trace shows in place of the frame of a transaction that did not start. */
export const stop = 0x00

export interface RunInput {
  readonly gasLimit: bigint
  /** The valid authorizations with their signers. */
  readonly authorizations: readonly SignedAuthorization[]
  /** Checked before the transaction and before each authorization. */
  readonly watch?: JobWatch | undefined
}

/** Gas that a transaction used, and how its frame ended. */
export interface TransactionOutcome extends Omit<FrameOutcome, 'gasLeft' | 'refund'> {
  /** Gas that its sender pays for: after refunds, at least the floor. */
  readonly gasUsed: bigint
  /** Gas used before refunds. */
  readonly gasSpent: bigint
  /** Gas that counts for its block besides state gas; EIP-7778 takes it before refunds. */
  readonly executionGas: bigint
  /** The sender's nonce before it, if its receipt contains that. */
  readonly reportedNonce?: bigint
}

/**
 * Runs a transaction that was checked. Its nonce is the sender account's. With `settles` the changes are final: the
 * sender gets the unused gas back, and the coinbase its part. Otherwise the caller reverts the kernel.
 */
export function applyTransaction(
  kernel: Kernel,
  priced: PricedTransaction,
  { gasLimit, authorizations, watch }: RunInput,
  settles: boolean,
): TransactionOutcome {
  const { tx, block, gasPrice } = priced
  watch?.look()
  kernel.setBlock(block)
  kernel.begin(tx.sender, gasPrice, tx.blobVersionedHashes ?? [])
  const run = runOutermostFrame(kernel, priced, gasLimit, authorizations, watch)
  const { stateGas, paidBefore, hasReservoir } = run
  // Refunds by EIP-3529, the floor of EIP-7623, and the gas that counts for the block by EIP-7778 and EIP-8037.
  const spent = gasLimit - run.gasLeft
  const refundMax = spent / (includesFork(block.fork, 'london') ? 5n : 2n)
  const gasUsed = max(spent - (run.refund < refundMax ? run.refund : refundMax), priced.floorGas)
  if (settles) settle(kernel, priced, gasLimit, gasUsed)
  const lacksCode = run.failure === 'none' && tx.to === undefined && kernel.lacksCode
  const failure = lacksCode ? 'codeStoreOutOfGas' : run.failure
  const hasStateGas = includesFork(block.fork, 'amsterdam')
  const executionGas = hasStateGas ? max(spent - stateGas, priced.floorGas) : gasUsed
  const gasSpent = max(spent, priced.floorGas)
  // Not copied from `run`: spreading an object takes longer than all the work here.
  return { failure, gasUsed, gasSpent, executionGas, stateGas, paidBefore, hasReservoir }
}

function settle(
  kernel: Kernel,
  { tx, block, gasPrice, isFree, fees }: PricedTransaction,
  gasLimit: bigint,
  gasUsed: bigint,
): void {
  const rest = (gasLimit - gasUsed) * gasPrice
  kernel.credit(
    kernel.account(tx.sender),
    fees === undefined ? rest : rest + fees.returned(gasLimit, gasUsed),
  )
  // As in go-ethereum, a block access list names the coinbase even if it gets nothing (EIP-7928).
  if (includesFork(block.fork, 'amsterdam')) kernel.see(kernel.account(block.coinbase))
  if (!isFree) {
    const coinbase = kernel.account(block.coinbase)
    const reward = gasUsed * (includesFork(block.fork, 'london') ? gasPrice - block.baseFee : gasPrice)
    // From Amsterdam on, a reward of zero does not even touch the account, which a trace shows.
    if (reward > 0n || !includesFork(block.fork, 'amsterdam')) kernel.credit(coinbase, reward)
    fees?.pay(gasUsed)
  }
  kernel.end()
}

export interface BlockTransaction extends Transaction {
  readonly gasLimit: bigint
  /** The transaction as in its block. */
  readonly item?: RlpItem
  /** Whether a developer chain made it without a signature. */
  readonly isImpersonated?: boolean
}

/**
 * Checks and runs the next transaction of a block. `used`: the gas of those before it; `blobs`: the limits for the
 * block's blobs. Its logs stay in the kernel until the next one begins. Throws {@link InvalidTransactionError}.
 */
export function runTransaction(
  kernel: Kernel,
  block: BlockRules,
  blobs: BlobParameters | undefined,
  used: BlockGas | undefined,
  tx: BlockTransaction,
  authorizations: readonly SignedAuthorization[],
): TransactionOutcome {
  const { gasLimit } = tx
  if (tx.forced !== undefined) return runForced(kernel, block, used, tx, tx.forced)
  const fees = forkRules(block.fork).execution.fees?.(kernel, block, tx.item)
  const plain = priceTransaction(tx, block, 'transaction')
  const priced = fees === undefined ? plain : { ...plain, fees }
  const sender = kernel.account(tx.sender)
  checkTransaction(priced, {
    gasLimit,
    balance: kernel.balanceOf(sender),
    nonce: kernel.nonceOf(sender),
    isContract: tx.isImpersonated !== true && isContract(kernel, sender, block),
    used,
    blobs,
  })
  return applyTransaction(kernel, priced, { gasLimit, authorizations }, true)
}

/**
 * Runs a transaction that its block includes unconditionally, such as a deposit of the OP Stack. It pays nothing. A
 * transaction that may not start fails and uses all its gas, but the ether that it mints stays. Throws {@link
 * InvalidTransactionError} if it does not fit the block.
 */
function runForced(
  kernel: Kernel,
  block: BlockRules,
  used: BlockGas | undefined,
  tx: BlockTransaction,
  { mint, isSystem }: NonNullable<Transaction['forced']>,
): TransactionOutcome {
  const { gasLimit, sender, to, data, value } = tx
  const account = kernel.account(sender)
  const reportedNonce = kernel.nonceOf(account)
  const countsGas = forkRules(block.fork).execution.countsForcedGas?.(block.fork) ?? true
  if (isSystem && countsGas) throw new InvalidTransactionError('system transactions are not supported')
  if (used !== undefined && !isSystem && !fitsBlock(block, gasLimit, used)) {
    throw new InvalidTransactionError('gas limit reached')
  }
  if (mint > 0n) {
    kernel.begin(sender, 0n, [])
    kernel.credit(account, mint)
    kernel.end()
  }
  const allGas = isSystem ? 0n : gasLimit
  const wholly = { gasUsed: allGas, gasSpent: allGas, executionGas: allGas }
  const priced = priceTransaction(tx, block, 'forced')
  const isTooLong =
    to === undefined && data.length > initcodeBytesMax(block.fork) && includesFork(block.fork, 'shanghai')
  if (gasLimit < startGas(priced) || value > kernel.balanceOf(account) || isTooLong) {
    kernel.begin(sender, 0n, [])
    kernel.setNonce(account, reportedNonce + 1n)
    kernel.end()
    const frame = { caller: zeroAddress, target: zeroAddress, value: 0n, input: noBytes, gas: 0n }
    kernel.tracer?.enter({ kind: stop, ...frame })
    kernel.tracer?.exit('depositFailed', 0n, noBytes)
    return {
      failure: 'depositFailed',
      ...wholly,
      stateGas: 0n,
      paidBefore: 0n,
      hasReservoir: false,
      reportedNonce,
    }
  }
  const outcome = applyTransaction(kernel, priced, { gasLimit, authorizations: [] }, true)
  return { ...outcome, ...(countsGas ? {} : wholly), reportedNonce }
}

/** EIP-3607; an account with a delegation (EIP-7702) is not a contract. */
function isContract(kernel: Kernel, sender: number, { fork }: BlockRules): boolean {
  return kernel.hasCode(sender) && !(includesFork(fork, 'prague') && isDelegation(kernel.codeOf(sender)))
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
