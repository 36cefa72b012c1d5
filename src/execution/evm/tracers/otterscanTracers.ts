/** Data of one transaction for Otterscan's pages, in the form of erigon's rpc/jsonrpc/otterscan_trace_*.go. */
import { equalBytes, noBytes } from '../../../primitives/bytes.js'
import {
  call,
  create,
  create2,
  delegateCall,
  opcodeNames,
  selfdestruct,
  staticCall,
} from '../engine/opcodeNames.js'
import { CallTreeTracer } from './callFrames.js'
import { type FrameEnd, type TracedFrame, TransactionTracer } from './tracer.js'

/** Memory of a recorded call, without its bytes. */
const itemBytes = 300

interface ListedCall extends Pick<TracedFrame, 'depth' | 'kind' | 'from' | 'to' | 'value' | 'input'> {
  output: Uint8Array
  readonly isListed: boolean
}

/** Every call, creation and selfdestruct in order, including undone ones, without calls of precompiled contracts. */
export class OtterscanCalls extends TransactionTracer {
  readonly #calls: ListedCall[] = []
  readonly #open: ListedCall[] = []

  enter({ depth, kind, from, to, value, input }: TracedFrame): void {
    const isListed = depth === 0 || kind === selfdestruct || !this.transaction.isPrecompile(to)
    const entered = { depth, kind, from, to, value, input: isListed ? input.slice() : noBytes }
    const listed = { ...entered, output: noBytes, isListed }
    this.#open.push(listed)
    if (!isListed) return
    this.hold(itemBytes + input.length)
    this.#calls.push(listed)
  }

  exit({ output, failure }: FrameEnd): void {
    const ended = this.#open.pop() as ListedCall
    if (!ended.isListed || (failure?.isUndone === true && failure.kind !== 'reverted')) return
    this.hold(output.length)
    ended.output = output.slice()
  }

  end(): void {
    const { json } = this.output
    this.writeAll('[]', this.#calls, ({ depth, kind, from, to, value, input, output }) => {
      const sent = kind === staticCall || kind === delegateCall ? undefined : value
      json.put`{"type":"${opcodeNames[kind]}","depth":${depth},"from":${from}`
      json.put`,"to":${to},"value":${sent},"input":${input},"output":${output}}`
    })
  }
}

/** Otterscan's numbers of operations. */
const operationTypes: Readonly<Record<number, number>> = {
  [call]: 0,
  [selfdestruct]: 1,
  [create]: 2,
  [create2]: 3,
}

/**
 * The transfers of ether within a transaction, its creations and its selfdestructs, in order. Unlike erigon's list, it
 * omits undone ones, so that its values really moved.
 */
export class OtterscanOperations extends TransactionTracer {
  readonly #operations: TracedFrame[] = []
  /** For each open call, the number of operations before it. */
  readonly #before: number[] = []

  enter(frame: TracedFrame): void {
    const { depth, kind, value } = frame
    this.#before.push(this.#operations.length)
    if (depth === 0 || operationTypes[kind] === undefined || (kind === call && value === 0n)) return
    this.#operations.push({ ...frame, input: noBytes })
    this.output.holding(this.#operations.length * itemBytes)
  }

  exit({ failure }: FrameEnd): void {
    const before = this.#before.pop() as number
    if (failure?.isUndone === true) this.#operations.length = before
  }

  end(): void {
    const { json } = this.output
    this.writeAll('[]', this.#operations, ({ kind, from, to, value }) => {
      json.put`{"type":${operationTypes[kind]},"from":${from},"to":${to},"value":${value}}`
    })
  }
}

/** Whether a transaction sends, calls, creates or pays an address, or has its authorization (EIP-7702). */
export class AddressTouched extends TransactionTracer {
  readonly #address: Uint8Array
  #isTouched = false

  /** 20 bytes. */
  constructor(address: Uint8Array) {
    super()
    this.#address = address
  }

  protected override begun(): void {
    const { authorizationList, state } = this.transaction
    const signers = authorizationList.length === 0 ? [] : state.signersOf(authorizationList)
    this.#isTouched = signers.some((signer) => this.#is(signer))
  }

  enter({ from, to }: TracedFrame): void {
    this.#isTouched ||= this.#is(from) || this.#is(to)
  }

  end(): void {
    this.output.json.text(String(this.#isTouched))
  }

  #is(address: Uint8Array): boolean {
    return equalBytes(address, this.#address)
  }
}

/** The data with which a transaction reverted; `0x` if it did not revert. */
export class RevertData extends CallTreeTracer {
  constructor() {
    super(true)
  }

  end(): void {
    const { failure, output } = this.top
    this.output.json.hex(failure?.kind === 'reverted' ? output : noBytes)
  }
}
