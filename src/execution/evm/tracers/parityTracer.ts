/**
 * Parity's form of traces (`trace_` methods): one list of the calls of any number of transactions. Each call has the
 * gas that the code itself got and used. Follows OpenEthereum's rpc/src/v1/types/trace.rs; a failed call has `error`
 * and no `result`.
 */
import { equalBytes, type Hash32 } from '../../../primitives/bytes.js'
import type { JsonBytes } from '../../../primitives/jsonBytes.js'
import type { Reward } from '../blocks/blockPayments.js'
import { selfdestruct } from '../engine/opcodeNames.js'
import { type Call, CallTreeTracer, goText } from './callFrames.js'
import { flatCalls, parityError, writeFlatCall, writeResult } from './flatCallTracer.js'
import type { TraceOutput } from './tracer.js'

/** Selects the calls of a list that are returned. */
interface ParityFilter {
  /** 20 bytes each; empty for any. A call must match one address of each list. */
  readonly from: readonly Uint8Array[]
  readonly to: readonly Uint8Array[]
  /** Number of matches to skip, and the maximum number after them. */
  readonly after: number
  readonly count: number
}

export interface ParityTracerOptions {
  readonly filter?: ParityFilter
  /** Only the call with this trace address in its transaction, not as a list; null if there is none. */
  readonly at?: readonly number[]
}

export class ParityTracer extends CallTreeTracer {
  readonly #options: ParityTracerOptions
  #found = 0
  #written = 0

  constructor(options: ParityTracerOptions) {
    super()
    this.#options = options
  }

  /** Whether the requested number of calls is written. */
  get isFull(): boolean {
    const { filter, at } = this.#options
    return this.#written >= (at === undefined ? (filter?.count ?? Number.POSITIVE_INFINITY) : 1)
  }

  open(output: TraceOutput): void {
    this.output = output
    if (this.#options.at === undefined) output.json.text('[')
  }

  close(): void {
    const { json } = this.output
    if (this.#options.at === undefined) json.text(']')
    else if (this.#written === 0) json.text('null')
  }

  end(): void {
    const { place, isPrecompile } = this.transaction
    const { at } = this.#options
    const { json } = this.output
    for (const each of flatCalls(this.top, false, isPrecompile)) {
      if (at !== undefined && at.join() !== each.address.join()) continue
      if (!this.#isWanted(each.call)) continue
      writeFlatCall(json, each, place, () => writeOutcome(json, each.call))
      this.output.flush()
    }
  }

  /** Lists a reward of a block. */
  reward({ kind, author, wei }: Reward, hash: Uint8Array, number: number): void {
    if (!this.#isWanted({ from: undefined, to: author })) return
    const { json } = this.output
    json.put`{"action":{"author":${author},"rewardType":"${kind}","value":${wei}},"blockHash":${hash}`
    json.put`,"blockNumber":${number},"result":null,"subtraces":0,"traceAddress":[]`
    json.put`,"transactionHash":null,"transactionPosition":null,"type":"reward"}`
    this.output.flush()
  }

  /** Whether to write a call; if so, writes a separator if one is needed. */
  #isWanted(parties: Parties): boolean {
    const { filter } = this.#options
    if (this.isFull || (filter !== undefined && !isBetween(parties, filter))) return false
    if (this.#found++ < (filter?.after ?? 0)) return false
    if (this.#written++ > 0) this.output.json.text(',')
    return true
  }
}

interface Parties {
  readonly from: Uint8Array | undefined
  readonly to: Uint8Array | undefined
}

function isBetween({ from, to }: Parties, filter: ParityFilter): boolean {
  return isOneOf(from, filter.from) && isOneOf(to, filter.to)
}

function isOneOf(address: Uint8Array | undefined, list: readonly Uint8Array[]): boolean {
  if (list.length === 0) return true
  return address !== undefined && list.some((each) => equalBytes(each as Hash32, address as Hash32))
}

/**
 * Writes a call's `error` with Parity's text, and its `result`. A reverted call has both, because its output is the
 * reason.
 */
export function writeOutcome(json: JsonBytes, call: Call): void {
  const { failure, kind } = call
  if (failure !== undefined) json.text(`,"error":${goText(parityError(failure.why))}`)
  if (failure !== undefined && failure.kind !== 'reverted') return
  if (kind === selfdestruct) json.text(',"result":null')
  else writeResult(json, call)
}
