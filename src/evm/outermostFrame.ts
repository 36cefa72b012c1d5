/**
 * What surrounds the outermost frame of every message, whether a block contains it or not: accounts that are warm from
 * the start, authorizations, and from Amsterdam on the gas of state that is paid before any instruction (EIP-2780,
 * EIP-8037). Owns no checks, payments and refunds; those are in transaction.ts and messageRun.ts.
 */
import { type ForkName, includesFork } from '../chain/forks.js'
import { transactionGasMax } from '../chain/intrinsicGas.js'
import {
  type AuthorizationCosts,
  applyAuthorizations,
  delegateOf,
  type SignedAuthorization,
} from './authorizations.js'
import { creationAddress } from './creationAddress.js'
import type { AccessListEntry } from './executionRequest.js'
import type { JobWatch } from './jobWatch.js'
import type { Kernel } from './kernel.js'
import type { KernelFailure } from './kernelOutcome.js'

/** A message whose sender can pay. */
export interface StartedMessage {
  /** 20 bytes. */
  readonly sender: Uint8Array
  /** 20 bytes; undefined for a creation. */
  readonly to: Uint8Array | undefined
  readonly value: bigint
  readonly data: Uint8Array
  readonly accessList: readonly AccessListEntry[]
  readonly authorizations: readonly SignedAuthorization[]
  readonly coinbase: Uint8Array
  readonly gasLimit: bigint
  readonly intrinsicGas: bigint
  /** Wei that the sender pays before it runs. */
  readonly upfront: bigint
}

export interface FrameOutcome {
  readonly failure: KernelFailure
  /** Gas that was not used. */
  readonly gasLeft: bigint
  /** Gas to give back of what was used, as far as refunds are limited. */
  readonly refund: bigint
  /** State gas among the gas used. */
  readonly stateGas: bigint
  /** Gas that was paid after the intrinsic gas and before the frame. */
  readonly paidBefore: bigint
  /** Whether there was gas for state alone. */
  readonly hasReservoir: boolean
}

/** What a message used, in gas. */
export interface GasUse {
  /** What its sender pays for: after refunds, at least the floor. */
  readonly gasUsed: bigint
  /** The same before refunds. */
  readonly gasSpent: bigint
  /** What counts for its block besides state gas, which EIP-7778 takes before refunds. */
  readonly executionGas: bigint
}

/** Refunds by EIP-3529, the floor of EIP-7623, and what counts for the block by EIP-7778 and EIP-8037. */
export function useOfGas(
  fork: ForkName,
  gasLimit: bigint,
  floor: bigint,
  { gasLeft, refund, stateGas }: FrameOutcome,
): GasUse {
  const spent = gasLimit - gasLeft
  const refundMax = spent / (includesFork(fork, 'london') ? 5n : 2n)
  const gasUsed = max(spent - (refund < refundMax ? refund : refundMax), floor)
  const executionGas = includesFork(fork, 'amsterdam') ? max(spent - stateGas, floor) : gasUsed
  return { gasUsed, gasSpent: max(spent, floor), executionGas }
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

// EIP-8037, in gas.
const newAccountStateGas = 183_600n
const delegationStateGas = 35_190n
// EIP-8038, in gas.
const accountWriteGas = 9_000n
const coldAccountGas = 3_000n
const warmAccountGas = 100n

/** The gas of a message before its first frame: for all, and for state alone. */
class StateGas {
  left: bigint
  reservoir: bigint
  used = 0n

  constructor(left: bigint, reservoir: bigint) {
    this.left = left
    this.reservoir = reservoir
  }

  /** Whether it was paid. */
  pay(gas: bigint): boolean {
    if (gas > this.left) return false
    this.left -= gas
    return true
  }

  /** Pays for state, from the reservoir first. */
  payState(gas: bigint): boolean {
    const stored = gas < this.reservoir ? gas : this.reservoir
    if (!this.pay(gas - stored)) return false
    this.reservoir -= stored
    this.used += gas
    return true
  }
}

// The opcodes that stand for a message.
const create = 0xf0
const call = 0xf1

/** Runs a message, after {@link Kernel.begin}. Its nonce is taken from the sender's account. */
export function runOutermostFrame(
  kernel: Kernel,
  fork: ForkName,
  message: StartedMessage,
  watch?: JobWatch,
): FrameOutcome {
  const sender = kernel.account(message.sender)
  const nonce = kernel.nonceOf(sender)
  const paySender = () => {
    kernel.debit(sender, message.upfront)
    kernel.setNonce(sender, nonce + 1n)
  }
  paySender()
  if (includesFork(fork, 'berlin')) warmFromStart(kernel, fork, message)
  if (includesFork(fork, 'amsterdam')) {
    return runWithStateGas(
      kernel,
      message,
      nonce,
      () => {
        kernel.revert()
        paySender()
      },
      watch,
    )
  }
  kernel.addRefund(applyAuthorizations(kernel, message.authorizations, undefined, watch))
  const to = message.to === undefined ? undefined : kernel.account(message.to)
  const delegate = to !== undefined && includesFork(fork, 'prague') ? delegateOf(kernel, to) : undefined
  if (delegate !== undefined) kernel.warm(delegate)
  const gas = message.gasLimit - message.intrinsicGas
  const { failure, gasLeft } = kernel.run(sender, to, nonce, message.value, message.data, gas)
  return { failure, gasLeft, refund: kernel.refund, stateGas: 0n, paidBefore: 0n, hasReservoir: false }
}

/** Addresses that are warm from the start (EIP-2929, EIP-3651), and the access list (EIP-2930). */
function warmFromStart(
  kernel: Kernel,
  fork: ForkName,
  { sender, to, coinbase, accessList }: StartedMessage,
): void {
  kernel.warm(kernel.account(sender))
  if (to !== undefined) kernel.warm(kernel.account(to))
  if (includesFork(fork, 'shanghai')) kernel.warm(kernel.account(coinbase))
  for (const { address, storageKeys } of accessList) {
    const account = kernel.account(address)
    kernel.warm(account)
    for (const key of storageKeys) kernel.warmSlot(account, key)
  }
}

/** As {@link runOutermostFrame}, from Amsterdam on. `undo` takes back everything but the sender's payment. */
function runWithStateGas(
  kernel: Kernel,
  message: StartedMessage,
  nonce: bigint,
  undo: () => void,
  watch: JobWatch | undefined,
): FrameOutcome {
  const available = message.gasLimit - message.intrinsicGas
  const budget = transactionGasMax - message.intrinsicGas
  const left = available < budget ? available : budget
  const gas = new StateGas(left, available - left)
  const sender = kernel.account(message.sender)
  kernel.see(sender)
  const costs = authorizationCosts(kernel, message, gas)
  if (applyAuthorizations(kernel, message.authorizations, costs, watch) === undefined) return outOfGas()
  const target = kernel.account(message.to ?? creationAddress(message.sender, nonce))
  kernel.see(target)
  const beforeTarget = { reservoir: gas.reservoir, used: gas.used }
  const isToSelf = target === sender
  const needsAccount = message.to === undefined || (message.value > 0n && !isToSelf)
  if (needsAccount && kernel.isEmpty(target) && !gas.payState(newAccountStateGas)) return outOfGas()
  const targetStateGas = gas.used - beforeTarget.used
  const delegate = message.to === undefined ? undefined : delegateOf(kernel, target)
  if (delegate !== undefined) {
    if (!gas.pay(kernel.warm(delegate) ? warmAccountGas : coldAccountGas)) return outOfGas()
    kernel.see(delegate)
  }
  const to = message.to === undefined ? undefined : target
  const run = kernel.run(sender, to, nonce, message.value, message.data, gas.left, gas.reservoir)
  const { failure } = run
  const shared = {
    failure,
    refund: kernel.refund,
    paidBefore: left - gas.left,
    hasReservoir: left < available,
  }
  if (failure === 'none') {
    return { ...shared, gasLeft: run.gasLeft + run.reservoir, stateGas: gas.used + run.stateGas }
  }
  // The account is not created: its gas goes back to where it came from. A halt burns what is not in the reservoir.
  const fromReservoir = beforeTarget.reservoir - gas.reservoir
  const returned = failure === 'reverted' ? targetStateGas - fromReservoir : 0n
  const gasLeft = run.gasLeft + returned + run.reservoir + fromReservoir
  return { ...shared, gasLeft, stateGas: beforeTarget.used }

  function outOfGas(): FrameOutcome {
    undo()
    const { sender: caller, to, value, data: input } = message
    const kind = to === undefined ? create : call
    const target = to ?? creationAddress(caller, nonce)
    kernel.tracer?.enter({ kind, caller, target, value, input, gas: left })
    kernel.tracer?.exit('outOfGas', 0n, new Uint8Array(0))
    const reservoir = available - left
    const spent = { stateGas: 0n, paidBefore: left, hasReservoir: reservoir > 0n }
    return { failure: 'outOfGas', gasLeft: reservoir, refund: 0n, ...spent }
  }
}

/** EIP-2780: what an authorization costs besides its intrinsic gas. */
function authorizationCosts(
  kernel: Kernel,
  { sender, to, value }: StartedMessage,
  gas: StateGas,
): AuthorizationCosts {
  // Accounts whose write is paid for, and those whose delegation is.
  const written = new Set([kernel.account(sender)])
  if (to !== undefined && value > 0n) written.add(kernel.account(to))
  const delegated = new Set<number>()
  const seen = new Set<number>()
  return {
    load: (account) => {
      kernel.see(account)
      if (seen.has(account)) return
      seen.add(account)
      // What was delegated before has paid.
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
