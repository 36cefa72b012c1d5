/**
 * Runs one message once: `run(message, kernel, gas limit) → outcome`, the basis of calls, estimates and access lists.
 * Owns everything around execution: payment, warm addresses, authorizations, refunds, messages of failures.
 * Afterwards the kernel's state is as before, with more of it cached.
 */
import { includesFork } from '../chain/forks.js'
import { bytesToBigInt } from '../primitives/bytes.js'
import type { AccessRecorder } from './accessRecorder.js'
import type { SignedAuthorization } from './authorizations.js'
import type { BlockContext } from './blockContext.js'
import type { BlockWords } from './blockWords.js'
import { failureReason } from './failureReasons.js'
import type { JobWatch } from './jobWatch.js'
import type { Kernel } from './kernel.js'
import type { KernelLog } from './kernelLogs.js'
import type { GasNeed, KernelFailure } from './kernelOutcome.js'
import type { PricedMessage } from './messageChecks.js'
import { type FrameOutcome, runOutermostFrame, useOfGas } from './outermostFrame.js'
import { refusalReason } from './precompiles/precompiles.js'

/** Arguments of a run besides the message. */
export interface RunInput {
  /** Holds the state before the message, and may hold more of it afterwards. */
  readonly kernel: Kernel
  readonly gasLimit: bigint
  readonly watch: JobWatch
  readonly authorizations: readonly SignedAuthorization[]
  /** Records the accesses of the run. */
  readonly accesses?: AccessRecorder
  /** Whether the outcome contains logs. */
  readonly keepsLogs?: boolean
}

/** Why an execution failed. */
export type Failure =
  | { readonly kind: 'reverted' }
  /** `why` is go-ethereum's message, here and below. */
  | { readonly kind: 'outOfGas'; readonly why: string }
  | { readonly kind: 'other'; readonly why: string }

export interface RunOutcome {
  /** Undefined for success. */
  readonly failure: Failure | undefined
  /** The output of the message or of its revert, or the code that it created. */
  readonly returnData: Uint8Array
  /** Gas used as in a receipt: after refunds, at least the floor. */
  readonly gasUsed: bigint
  /** The same before refunds. */
  readonly gasSpent: bigint
  /** What counts for a block, by dimension; see transaction.ts. */
  readonly executionGas: bigint
  readonly stateGas: bigint
  readonly logs: readonly KernelLog[]
  /** Undefined for a failure, and where state was paid from gas that is for nothing else (EIP-8037). */
  readonly need: GasNeed | undefined
}

const nonceMax = 2n ** 64n - 1n

/** Runs a message whose gas limit has been checked. Errors of the watch and of the store pass through. */
export function runMessage(priced: PricedMessage, input: RunInput): RunOutcome {
  const { kernel, watch } = input
  watch.look()
  kernel.setBlock(wordsOf(priced.context))
  kernel.begin(priced.sender, priced.gasPrice, priced.message.blobVersionedHashes ?? [])
  try {
    return runBegun(priced, input)
  } finally {
    kernel.revert()
  }
}

/**
 * Runs a message whose gas limit has been checked, and keeps its changes, as a transaction of a block: pays the
 * coinbase and ends the transaction. Its logs stay in the kernel until the next one begins.
 */
export function applyMessage(priced: PricedMessage, input: RunInput): RunOutcome {
  const { kernel, watch, gasLimit } = input
  const { context, gasPrice } = priced
  watch.look()
  kernel.setBlock(wordsOf(context))
  kernel.begin(priced.sender, gasPrice, priced.message.blobVersionedHashes ?? [])
  const outcome = runBegun(priced, input)
  kernel.credit(kernel.account(priced.sender), (gasLimit - outcome.gasUsed) * gasPrice)
  if (!priced.isFree) {
    const burnt = includesFork(context.fork, 'london') ? (context.baseFee ?? 0n) : 0n
    kernel.credit(kernel.account(context.coinbase), outcome.gasUsed * (gasPrice - burnt))
  }
  kernel.end()
  return outcome
}

function runBegun(priced: PricedMessage, input: RunInput): RunOutcome {
  const { message, intrinsicGas, gasPrice, context } = priced
  const { kernel, gasLimit, watch, accesses } = input
  const sender = kernel.account(priced.sender)
  const nonce = kernel.nonceOf(sender)
  if (message.to === undefined && nonce >= nonceMax) {
    const failure: Failure = { kind: 'other', why: 'nonce uint64 overflow' }
    const gas = { gasUsed: gasLimit, gasSpent: gasLimit, executionGas: gasLimit, stateGas: 0n }
    return { failure, returnData: new Uint8Array(0), ...gas, logs: [], need: undefined }
  }
  const to = message.to === undefined ? undefined : kernel.account(message.to)
  const run = runOutermostFrame(
    kernel,
    context.fork,
    {
      sender: priced.sender,
      to: message.to,
      value: message.value,
      data: message.data,
      accessList: message.accessList ?? [],
      authorizations: input.authorizations,
      coinbase: context.coinbase,
      gasLimit,
      intrinsicGas,
      upfront: gasLimit * gasPrice + priced.blobCost,
    },
    watch,
  )
  const { failure: why, stateGas } = run
  const lacksCode = why === 'none' && to === undefined && kernel.lacksCode
  const failure = lacksCode ? 'codeStoreOutOfGas' : why
  if (accesses !== undefined) recordAccesses(kernel, accesses)
  return {
    failure: toFailure(failure, priced, input, to),
    returnData: kernel.output,
    ...useOfGas(context.fork, gasLimit, priced.floorGas, run),
    stateGas,
    logs: input.keepsLogs === true ? kernel.logs : [],
    need: failure === 'none' && !run.hasReservoir ? needAfter(kernel, run) : undefined,
  }
}

const words = new WeakMap<BlockContext, BlockWords>()

/** What instructions read of a block; kept by context, which most messages share. */
export function wordsOf(context: BlockContext): BlockWords {
  let found = words.get(context)
  if (found === undefined) {
    found = {
      ...context,
      random: includesFork(context.fork, 'paris') ? bytesToBigInt(context.prevRandao) : context.difficulty,
      // Overrides may choose a fork with BASEFEE for a block without a base fee.
      baseFee: context.baseFee ?? 0n,
      blobBaseFee: context.blobBaseFee ?? 0n,
      slotNumber: context.slotNumber ?? 0n,
    }
    words.set(context, found)
  }
  return found
}

function recordAccesses(kernel: Kernel, accesses: AccessRecorder): void {
  const { addresses, slots } = kernel.readSeen()
  for (const address of addresses) accesses.touchAddress(address)
  for (const [address, slot] of slots) accesses.touchSlot(address, slot)
}

/** The need of the frame and of what came before it. */
function needAfter(kernel: Kernel, { paidBefore }: FrameOutcome): GasNeed {
  const { frameGas, ...need } = kernel.need
  return { ...need, frameGas: frameGas + paidBefore }
}

function toFailure(
  failure: KernelFailure,
  { message }: PricedMessage,
  { kernel, watch }: RunInput,
  to: number | undefined,
): Failure | undefined {
  if (failure === 'none') return undefined
  if (failure === 'reverted') return { kind: 'reverted' }
  const precompile = to === undefined ? 0 : kernel.precompileOf(to)
  const refusal = () => refusalReason(precompile, message.data, watch)
  const { isOutOfGas, why } = failureReason(failure, kernel, precompile === 0 ? undefined : refusal)
  return { kind: isOutOfGas ? 'outOfGas' : 'other', why }
}
