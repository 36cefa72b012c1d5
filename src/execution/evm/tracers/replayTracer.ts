/**
 * The result of Parity's `trace_replay…` and `trace_call…` for one transaction: its output and, if requested, its
 * calls, its instructions and the changes of the state. Follows OpenEthereum's rpc/src/v1/types/trace.rs
 * (TraceResults).
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
 * Parity's `stateDiff`: changes of a transaction, by account. `=` is no change, `+` a new value, `-` a removed one, `*`
 * a changed one. Follows OpenEthereum's rpc/src/v1/types/trace.rs and vm/account-state.
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
      const current = now.exists ? bytesToHex(state.slot(address, hexToBytes(slot.slice(2)))) : zeroSlot
      if (current !== value) storage[slot] = change(value, current)
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
  /** Whether the result has the transaction's hash, as for transactions of a block. */
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
    // Instructions are written while the transaction runs.
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

/** The calls as a list, without a place in the chain. */
class AdHocCalls extends CallTreeTracer {
  /** The output of the transaction, or the code that it created. */
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
