/**
 * Steps around the outermost frame of every message, in a block or not. They warm accounts and apply authorizations.
 * From Amsterdam on, state gas is paid before the first instruction (EIP-2780, EIP-8037). Owns no checks and refunds.
 */
import { includesFork } from '../../../data/chain/forks.js'
import { transactionGasMax } from '../../../data/chain/intrinsicGas.js'
import { creationAddress } from '../../../primitives/addresses.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { Kernel } from '../engine/kernel.js'
import type { KernelFailure } from '../engine/kernelOutcome.js'
import { call, create } from '../engine/opcodeNames.js'
import {
  type AuthorizationCosts,
  applyAuthorizations,
  delegateOf,
  nonceMax,
  type SignedAuthorization,
} from './authorizations.js'
import type { PricedTransaction, Transaction } from './pricedTransaction.js'

export interface FrameOutcome {
  readonly failure: KernelFailure
  readonly gasLeft: bigint
  /** Gas to give back, before the limit on refunds. */
  readonly refund: bigint
  /** State gas among the gas used. */
  readonly stateGas: bigint
  /** Gas that was paid after the intrinsic gas and before the frame. */
  readonly paidBefore: bigint
  /** Whether the message had gas for state alone. */
  readonly hasReservoir: boolean
}

// EIP-8037, in gas.
const newAccountStateGas = 183_600n
const delegationStateGas = 35_190n
// EIP-8038, in gas.
const accountWriteGas = 9_000n
const coldAccountGas = 3_000n
const warmAccountGas = 100n

/** The gas of a message before its first frame: general gas, and gas for state alone. */
class StateGas {
  left: bigint
  reservoir: bigint
  used = 0n

  constructor(left: bigint, reservoir: bigint) {
    this.left = left
    this.reservoir = reservoir
  }

  /** Returns whether the gas was enough. */
  pay(gas: bigint): boolean {
    if (gas > this.left) return false
    this.left -= gas
    return true
  }

  /** Pays for state, from the reservoir first. Returns whether the gas was enough. */
  payState(gas: bigint): boolean {
    const stored = gas < this.reservoir ? gas : this.reservoir
    if (!this.pay(gas - stored)) return false
    this.reservoir -= stored
    this.used += gas
    return true
  }
}

/** Runs a message, after {@link Kernel.begin}. Its nonce is taken from the sender's account. */
export function runOutermostFrame(
  kernel: Kernel,
  priced: PricedTransaction,
  gasLimit: bigint,
  authorizations: readonly SignedAuthorization[],
  watch: JobWatch | undefined,
): FrameOutcome {
  const { tx, block, gasPrice, blobCost, fees } = priced
  const { fork } = block
  const sender = kernel.account(tx.sender)
  const nonce = kernel.nonceOf(sender)
  const available = gasLimit - priced.intrinsicGas
  const paySender = (nonceAfter: bigint) => {
    const more = fees === undefined ? blobCost : blobCost + fees.taken(gasLimit)
    kernel.debit(sender, gasLimit * gasPrice + more)
    kernel.setNonce(sender, nonceAfter)
  }
  const fail = (failure: KernelFailure, gas: bigint, gasLeft: bigint, nonceAfter: bigint): FrameOutcome => {
    kernel.revert()
    paySender(nonceAfter)
    const { sender: caller, to, value, data: input } = tx
    const target = to ?? creationAddress(caller, nonce)
    kernel.tracer?.enter({ kind: to === undefined ? create : call, caller, target, value, input, gas })
    kernel.tracer?.exit(failure, 0n, new Uint8Array(0))
    return { failure, gasLeft, refund: 0n, stateGas: 0n, paidBefore: gas, hasReservoir: gasLeft > 0n }
  }
  if (tx.to === undefined && nonce === nonceMax) return fail('nonceOverflow', available, 0n, nonce)
  paySender(nonce + 1n)
  if (includesFork(fork, 'berlin')) warmFromStart(kernel, priced)
  if (includesFork(fork, 'amsterdam')) {
    const budget = transactionGasMax - priced.intrinsicGas
    const left = available < budget || !priced.isCapped ? available : budget
    const reservoir = available - left
    const gas = new StateGas(left, reservoir)
    return (
      runWithStateGas(kernel, tx, nonce, gas, authorizations, watch) ??
      fail('outOfGas', left, reservoir, nonce + 1n)
    )
  }
  applyAuthorizations(kernel, authorizations, undefined, watch)
  const to = tx.to === undefined ? undefined : kernel.account(tx.to)
  const delegate = to !== undefined && includesFork(fork, 'prague') ? delegateOf(kernel, to) : undefined
  if (delegate !== undefined) kernel.warm(delegate)
  const { failure, gasLeft } = kernel.run(sender, to, nonce, tx.value, tx.data, available)
  return { failure, gasLeft, refund: kernel.refund, stateGas: 0n, paidBefore: 0n, hasReservoir: false }
}

/** Addresses that are warm from the start (EIP-2929, EIP-3651), and the access list (EIP-2930). */
function warmFromStart(
  kernel: Kernel,
  { tx: { sender, to, accessList = [] }, block }: PricedTransaction,
): void {
  kernel.warm(kernel.account(sender))
  if (to !== undefined) kernel.warm(kernel.account(to))
  if (includesFork(block.fork, 'shanghai')) kernel.warm(kernel.account(block.coinbase))
  for (const { address, storageKeys } of accessList) {
    const account = kernel.account(address)
    kernel.warm(account)
    for (const key of storageKeys) kernel.warmSlot(account, key)
  }
}

/** Like {@link runOutermostFrame}, from Amsterdam on; undefined if `gas` runs out before the frame. */
function runWithStateGas(
  kernel: Kernel,
  message: Transaction,
  nonce: bigint,
  gas: StateGas,
  authorizations: readonly SignedAuthorization[],
  watch: JobWatch | undefined,
): FrameOutcome | undefined {
  const { left, reservoir } = gas
  const sender = kernel.account(message.sender)
  kernel.see(sender)
  const costs = authorizationCosts(kernel, message, gas)
  if (!applyAuthorizations(kernel, authorizations, costs, watch)) return undefined
  const target = kernel.account(message.to ?? creationAddress(message.sender, nonce))
  kernel.see(target)
  const beforeTarget = { reservoir: gas.reservoir, used: gas.used }
  const isToSelf = target === sender
  const needsAccount = message.to === undefined || (message.value > 0n && !isToSelf)
  if (needsAccount && kernel.isEmpty(target) && !gas.payState(newAccountStateGas)) return undefined
  const targetStateGas = gas.used - beforeTarget.used
  const delegate = message.to === undefined ? undefined : delegateOf(kernel, target)
  if (delegate !== undefined) {
    if (!gas.pay(kernel.warm(delegate) ? warmAccountGas : coldAccountGas)) return undefined
    kernel.see(delegate)
  }
  const to = message.to === undefined ? undefined : target
  const run = kernel.run(sender, to, nonce, message.value, message.data, gas.left, gas.reservoir)
  const { failure } = run
  const shared = {
    failure,
    refund: kernel.refund,
    paidBefore: left - gas.left,
    hasReservoir: reservoir > 0n,
  }
  if (failure === 'none') {
    return { ...shared, gasLeft: run.gasLeft + run.reservoir, stateGas: gas.used + run.stateGas }
  }
  // The account is not created, so its gas returns to its source. A halt burns the part outside the reservoir.
  const fromReservoir = beforeTarget.reservoir - gas.reservoir
  const returned = failure === 'reverted' ? targetStateGas - fromReservoir : 0n
  const gasLeft = run.gasLeft + returned + run.reservoir + fromReservoir
  return { ...shared, gasLeft, stateGas: beforeTarget.used }
}

/** EIP-2780: the costs of authorizations besides their intrinsic gas. */
function authorizationCosts(
  kernel: Kernel,
  { sender, to, value }: Transaction,
  gas: StateGas,
): AuthorizationCosts {
  // Accounts whose write is paid for, and accounts whose delegation is paid for.
  const written = new Set([kernel.account(sender)])
  if (to !== undefined && value > 0n) written.add(kernel.account(to))
  const delegated = new Set<number>()
  const seen = new Set<number>()
  return {
    load: (account) => {
      kernel.see(account)
      if (seen.has(account)) return
      seen.add(account)
      // An account that was already delegated has paid.
      if (kernel.hasCode(account)) delegated.add(account)
    },
    pay: (account, sets) => {
      if (kernel.isEmpty(account) && !gas.payState(newAccountStateGas)) return false
      if (!written.has(account) && !gas.pay(accountWriteGas)) return false
      written.add(account)
      if (!sets || delegated.has(account)) return true
      delegated.add(account)
      return gas.payState(delegationStateGas)
    },
  }
}
