/**
 * One message run once: `run(message, state, gas limit) → outcome`, the primitive below calls, estimates and access
 * lists, and all that an engine in place of this one has to offer. Owns what happens around execution: paying,
 * warm addresses, authorizations, refunds, the words for failures. Changes nothing but its own overlay.
 */
import { EVMError, type EVMResult, type PrecompileFunc } from '@ethereumjs/evm'
import { Account as EvmAccount, Address as EvmAddress } from '@ethereumjs/util'
import { includesFork } from '../chain/forks.js'
import { bytesToHex, hexDigits } from '../primitives/bytes.js'
import type { StateView } from '../state/stateView.js'
import type { AccessRecorder } from './accessRecorder.js'
import { applyAuthorizations, type SignedAuthorization } from './authorizations.js'
import type { CallEvm } from './callEvm.js'
import type { OpcodeEntry, RunState } from './frameLoop.js'
import type { GasNeed } from './gasRecorder.js'
import { invalidOpcodeReason, payingFailure } from './haltReasons.js'
import type { JobWatch } from './jobWatch.js'
import { JournaledState } from './journaledState.js'
import type { PricedMessage } from './messageChecks.js'
import { PrecompileError } from './precompileFailures.js'

/** What a run takes beside the message. */
export interface RunInput {
  readonly evm: CallEvm
  /** The state before the message. */
  readonly state: StateView
  readonly gasLimit: bigint
  readonly watch: JobWatch
  readonly precompiles: ReadonlyMap<string, PrecompileFunc>
  readonly authorizations: readonly SignedAuthorization[]
  /** Whether to find out what gas the run needs. */
  readonly recordsGas: boolean
  readonly accesses: AccessRecorder | undefined
}

/** Why an execution failed. */
export type Failure =
  | { readonly kind: 'reverted' }
  /** `why` in the words of go-ethereum, here and below. */
  | { readonly kind: 'outOfGas'; readonly why: string }
  | { readonly kind: 'other'; readonly why: string }

export interface MessageLog {
  /** 20 bytes. */
  readonly address: Uint8Array
  readonly topics: readonly Uint8Array[]
  readonly data: Uint8Array
}

export interface RunOutcome {
  /** Undefined for success. */
  readonly failure: Failure | undefined
  /** What the message returned or reverted with, or the code that it created. */
  readonly returnData: Uint8Array
  /** As a receipt would say: after refunds, at least the floor. */
  readonly gasUsed: bigint
  readonly logs: readonly MessageLog[]
  /** Recorded on success where it was asked for. */
  readonly need: GasNeed | undefined
}

const nonceMax = 2n ** 64n - 1n

/** Runs a message whose gas limit has been checked. Errors of the watch and of the store pass through. */
export async function runMessage(priced: PricedMessage, input: RunInput): Promise<RunOutcome> {
  const { message, sender, context, gasPrice } = priced
  const { evm, gasLimit, watch } = input
  const state = new JournaledState(input.state)
  const gas = input.recordsGas ? evm.createGasRecorder() : undefined
  watch.releaseAll()
  watch.look()
  const { accesses, precompiles } = input
  evm.attach({ state, watch, gas, accesses, ancestorHash: context.ancestorHash, precompiles })
  warmAddresses(priced, input)
  const from = new EvmAddress(sender)
  const account = (await state.getAccount(from)) ?? new EvmAccount()
  if (message.to === undefined && account.nonce >= nonceMax) {
    const failure: Failure = { kind: 'other', why: 'nonce uint64 overflow' }
    return { failure, returnData: new Uint8Array(0), gasUsed: gasLimit, logs: [], need: undefined }
  }
  account.nonce++
  account.balance -= gasLimit * gasPrice + priced.blobCost
  await evm.journal.putAccount(from, account)
  const refund = await applyAuthorizations(evm, input.authorizations)
  const result = await evm.runCall({
    block: evmBlock(priced),
    gasPrice,
    caller: from,
    gasLimit: gasLimit - priced.intrinsicGas,
    ...(message.to === undefined ? {} : { to: new EvmAddress(message.to) }),
    value: message.value,
    data: message.data,
    blobVersionedHashes: (message.blobVersionedHashes ?? []).map(bytesToHex),
    skipNonceIncrement: true,
  })
  return toOutcome(priced, result, refund, gas?.need, input)
}

function toOutcome(
  { intrinsicGas, floorGas, context }: PricedMessage,
  { execResult }: EVMResult,
  authorizationRefund: bigint,
  need: GasNeed | undefined,
  { evm, watch }: RunInput,
): RunOutcome {
  const spent = intrinsicGas + execResult.executionGasUsed
  const refundMax = spent / (includesFork(context.fork, 'london') ? 5n : 2n)
  const refund = authorizationRefund + (execResult.gasRefund ?? 0n)
  const afterRefund = spent - (refund < refundMax ? refund : refundMax)
  const failure = toFailure(execResult, evm, watch)
  return {
    failure,
    returnData: execResult.returnValue,
    gasUsed: afterRefund < floorGas ? floorGas : afterRefund,
    logs: (execResult.logs ?? []).map(([address, topics, data]) => ({ address, topics, data })),
    need: failure === undefined ? need : undefined,
  }
}

const failureTexts: ReadonlyMap<string, string> = new Map([
  [EVMError.errorMessages.STATIC_STATE_CHANGE, 'write protection'],
  [EVMError.errorMessages.CREATE_COLLISION, 'contract address collision'],
  // Of a creation in Frontier.
  [EVMError.errorMessages.CODESTORE_OUT_OF_GAS, 'contract creation code storage out of gas'],
])

function toFailure(
  { exceptionError, runState }: EVMResult['execResult'],
  evm: CallEvm,
  watch: JobWatch,
): Failure | undefined {
  if (exceptionError === undefined) return undefined
  if (exceptionError instanceof PrecompileError) return { kind: 'other', why: exceptionError.why(watch) }
  const error: string = exceptionError.error
  if (error === EVMError.errorMessages.REVERT) return { kind: 'reverted' }
  if (error === EVMError.errorMessages.OUT_OF_GAS) {
    if (runState === undefined) return { kind: 'outOfGas', why: 'out of gas' }
    const state = runState as unknown as RunState
    const entry = evm.opcodeTable[state.opCode] as OpcodeEntry
    const { isOutOfGas, why } = payingFailure(state, entry, evm.fork, evm.callFacts)
    return { kind: isOutOfGas ? 'outOfGas' : 'other', why }
  }
  // The library appends where it was.
  if (error.startsWith(EVMError.errorMessages.INVALID_JUMP))
    return { kind: 'other', why: 'invalid jump destination' }
  if (error === EVMError.errorMessages.INVALID_OPCODE && runState !== undefined) {
    return { kind: 'other', why: invalidOpcodeReason(runState.opCode) }
  }
  return { kind: 'other', why: failureTexts.get(error) ?? error }
}

/** Addresses that are warm from the start (EIP-2929, EIP-3651), and the access list (EIP-2930). */
function warmAddresses({ message, sender, context }: PricedMessage, { evm }: RunInput): void {
  const { journal } = evm
  if (!includesFork(context.fork, 'berlin')) return
  for (const address of evm.ownPrecompiles.keys()) journal.addAlwaysWarmAddress(address)
  journal.addAlwaysWarmAddress(hexDigits(sender))
  if (message.to !== undefined) journal.addAlwaysWarmAddress(hexDigits(message.to))
  if (includesFork(context.fork, 'shanghai')) journal.addAlwaysWarmAddress(hexDigits(context.coinbase))
  for (const { address, storageKeys } of message.accessList ?? []) {
    const digits = hexDigits(address)
    journal.addAlwaysWarmAddress(digits)
    for (const slot of storageKeys) journal.addAlwaysWarmSlot(digits, hexDigits(slot))
  }
}

type EvmBlock = NonNullable<Parameters<CallEvm['runCall']>[0]['block']>

function evmBlock({ context }: PricedMessage): EvmBlock {
  const { number, timestamp, difficulty, prevRandao, gasLimit, coinbase, baseFee, blobBaseFee } = context
  return {
    header: {
      number,
      timestamp,
      difficulty,
      prevRandao,
      gasLimit,
      coinbase: new EvmAddress(coinbase),
      // Overrides may choose a fork with the instruction for a block without the fee.
      baseFeePerGas: baseFee ?? 0n,
      getBlobGasPrice: () => blobBaseFee,
    },
  }
}
