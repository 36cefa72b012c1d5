/**
 * What Parity's `trace_replay…` and `trace_call…` answer of one transaction: its output, and on demand its calls, its
 * instructions and the changes of the state. Follows OpenEthereum's rpc/src/v1/types/trace.rs (TraceResults).
 */

import { bytesToHex, hexToBytes, toQuantity } from '../../../primitives/bytes.js'
import { CallTreeTracer } from './callFrames.js'
import { flatCalls, writeFlatCall } from './flatCallTracer.js'
import { MuxTracer } from './muxTracer.js'
import { writeOutcome } from './parityTracer.js'
import { type Before, TouchedState, zeroSlot } from './touchedState.js'
import { type AccountNow, byName } from './tracer.js'
import { VmTracer } from './vmTracer.js'

/**
 * Parity's `stateDiff`: what a transaction changed, by account. `=` is no change, `+` what is new, `-` what is gone, `*`
 * from one value to another. Follows OpenEthereum's rpc/src/v1/types/trace.rs and vm/account-state.
 */
type Change =
  | '='
  | { readonly '+': string }
  | { readonly '-': string }
  | { readonly '*': { from: string; to: string } }

class StateDiff extends TouchedState {
  end(): void {
    this.writeAll('{}', this.#changes(), ([key, change]) => this.output.json.text(`"${key}":${change}`))
  }

  *#changes(): Generator<readonly [address: string, change: string]> {
    for (const [key, before] of byName(this.before)) {
      const change = this.#changeOf(hexToBytes(key.slice(2)), before)
      if (change !== undefined) yield [key, change]
    }
  }

  /** The change of one account as JSON; undefined for none. */
  #changeOf(address: Uint8Array, before: Before): string | undefined {
    const { state } = this.transaction
    const now = state.account(address)
    if (!before.exists && !now.exists) return undefined
    const change = (from: string, to: string): Change =>
      !before.exists ? { '+': to } : !now.exists ? { '-': from } : from === to ? '=' : { '*': { from, to } }
    const storage: Record<string, Change> = {}
    for (const [slot, value] of byName(before.slots)) {
      const held = now.exists ? bytesToHex(state.slot(address, hexToBytes(slot.slice(2)))) : zeroSlot
      if (held !== value) storage[slot] = change(value, held)
    }
    const parts = {
      balance: change(toQuantity(before.balance), toQuantity(now.balance)),
      code: change(codeOf(before), codeOf(now)),
      nonce: change(toQuantity(before.nonce), toQuantity(now.nonce)),
    }
    const isChanged = Object.values(parts).some((part) => part !== '=') || Object.keys(storage).length > 0
    return isChanged ? JSON.stringify({ ...parts, storage }) : undefined
  }
}

function codeOf({ code }: AccountNow): string {
  return bytesToHex(code)
}

export interface ReplayOptions {
  readonly trace: boolean
  readonly vmTrace: boolean
  readonly stateDiff: boolean
  /** Whether the hash of the transaction is told, as for those of a block. */
  readonly withHash: boolean
}

export class ReplayTracer extends MuxTracer {
  readonly #options: ReplayOptions
  readonly #calls: AdHocCalls
  readonly #vm: VmTracer | undefined
  readonly #diff: StateDiff | undefined

  constructor(options: ReplayOptions) {
    const calls = new AdHocCalls(!options.trace)
    const vm = options.vmTrace ? new VmTracer() : undefined
    const diff = options.stateDiff ? new StateDiff() : undefined
    super(
      [calls, vm, diff].flatMap((tracer, at) =>
        tracer === undefined ? [] : [[String(at), tracer] as const],
      ),
    )
    this.#options = options
    this.#calls = calls
    this.#vm = vm
    this.#diff = diff
  }

  protected override begun(): void {
    // Instructions are written while they run.
    this.output.json.text('{"vmTrace":')
    super.begun()
  }

  override end(): void {
    const { json } = this.output
    if (this.#vm === undefined) json.text('null')
    else this.#vm.end()
    json.text(',"stateDiff":')
    if (this.#diff === undefined) json.text('null')
    else this.#diff.end()
    json.text(',"trace":')
    if (this.#options.trace) this.#calls.end()
    else json.text('[]')
    json.put`,"output":${this.#calls.outcome}`
    if (this.#options.withHash) json.put`,"transactionHash":${this.transaction.place?.hash}`
    json.text('}')
  }
}

/** The calls as a list, without their place in a chain. */
class AdHocCalls extends CallTreeTracer {
  /** What the transaction returned, or the code that it created. */
  get outcome(): Uint8Array {
    return this.top.output
  }

  end(): void {
    const { json } = this.output
    this.writeAll('[]', flatCalls(this.top, false, this.transaction.isPrecompile), (each) =>
      writeFlatCall(json, each, 'none', () => writeOutcome(json, each.call)),
    )
  }
}
