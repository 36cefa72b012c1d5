import { decodeHeader } from '../../../../src/data/chain/header.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { Execution } from '../../../../src/execution/evm/messages/execution.js'
import type {
  AccountOverride,
  CallMessage,
  ExecutionRequest,
} from '../../../../src/execution/evm/messages/executionRequest.js'
import { bytesToBigInt, concatBytes, padLeft, toMinimalBytes } from '../../../../src/primitives/bytes.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { demoStorePath } from '../../../store/storedMessages.js'
import { assemble, type Item, returnTop } from './assembly.js'

export const demoStore = ChainReader.open({ path: demoStorePath })
export const limits = { timeMsMax: 20_000, memoryBytesMax: 2 ** 28 }
export const demoExecution = new Execution(demoStore, limits)
export const goOn = (): boolean => false

const head = demoStore.readHead()
const headRow = head && demoStore.readHeader(head.hash)
if (head === undefined || headRow === undefined) throw new Error('the demo store has no head')
export const demoHead = head
export const demoHeader = decodeHeader(headRow)

/** An address of 20 bytes that ends with `number`. */
export function addressOf(number: number): Uint8Array {
  const bytes = padLeft(toMinimalBytes(number), 20)
  bytes[0] = 0xc0
  return bytes
}

export type Message = Partial<CallMessage>

/** A request at the head of the demo chain with 30 million gas. */
export function requestOf(
  message: Message,
  stateOverrides: readonly AccountOverride[] = [],
  rest: Partial<ExecutionRequest> = {},
): ExecutionRequest {
  return {
    block: { ...demoHead, isPending: false },
    message: { value: 0n, data: new Uint8Array(0), ...message },
    gasDefault: 30_000_000n,
    gasMax: 300_000_000n,
    stateOverrides,
    ...rest,
  }
}

/** The fault that a job rejects with. Throws if it does not reject. */
export async function faultOf(job: Promise<unknown>): Promise<FaultError['fault']> {
  try {
    await job
  } catch (error) {
    if (error instanceof FaultError) return error.fault
    throw error
  }
  throw new Error('expected a fault')
}

/** The outcome of `work`, faults included. */
export async function settled(work: () => unknown): Promise<unknown> {
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof FaultError) return thrown.fault
    throw thrown
  }
}

/** Whether a message succeeds with exactly this much gas. */
export async function succeedsWith(
  execution: Execution,
  request: ExecutionRequest,
  gas: bigint,
): Promise<boolean> {
  try {
    const exact = { ...request, message: { ...request.message, gas } }
    return (await execution.call(exact, goOn)).failure === undefined
  } catch (error) {
    const kind = error instanceof FaultError ? error.fault.kind : undefined
    if (kind === 'MessageRefused') return false
    throw error
  }
}

/** 32 bytes. */
export const word = (value: number | bigint): Uint8Array => padLeft(toMinimalBytes(value), 32)

/** The address at which {@link resultOf} puts its code. */
export const contract = addressOf(1)

/** Code that returns the topmost word after `items`. */
export const topOf = (...items: Item[]): Uint8Array => concatBytes(assemble(...items), returnTop)

/** The result of code at {@link contract}, as an integer. Throws if it fails. */
export async function resultOf(
  code: Uint8Array,
  message: Message = {},
  overrides: readonly AccountOverride[] = [],
  rest: Partial<ExecutionRequest> = {},
): Promise<bigint> {
  const request = requestOf({ to: contract, ...message }, [{ address: contract, code }, ...overrides], rest)
  const { failure, returnData } = await demoExecution.call(request, goOn)
  if (failure !== undefined) throw new Error(JSON.stringify(failure))
  return bytesToBigInt(returnData)
}
