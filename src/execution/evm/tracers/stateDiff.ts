/**
 * Parity's `stateDiff`: what a transaction changed, by account. `=` is no change, `+` what is new, `-` what is gone, `*`
 * from one value to another. Follows OpenEthereum's rpc/src/v1/types/trace.rs and vm/account-state.
 */
import { bytesToHex, hexToBytes, toQuantity } from '../../../primitives/bytes.js'
import { type Before, TouchedState, zeroSlot } from './touchedState.js'
import type { AccountNow } from './tracer.js'

type Change =
  | '='
  | { readonly '+': string }
  | { readonly '-': string }
  | { readonly '*': { from: string; to: string } }

export class StateDiff extends TouchedState {
  end(): void {
    const { json } = this.output
    json.text('{')
    let count = 0
    for (const [key, before] of [...this.before].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const text = this.#changeOf(hexToBytes(key.slice(2)), before)
      if (text === undefined) continue
      json.text(`${count++ > 0 ? ',' : ''}"${key}":${text}`)
      this.output.flush()
    }
    json.text('}')
  }

  /** The change of one account as JSON; undefined for none. */
  #changeOf(address: Uint8Array, before: Before): string | undefined {
    const { state } = this.transaction
    const now = state.account(address)
    if (!before.exists && !now.exists) return undefined
    const change = (from: string, to: string): Change =>
      !before.exists ? { '+': to } : !now.exists ? { '-': from } : from === to ? '=' : { '*': { from, to } }
    const storage: Record<string, Change> = {}
    for (const [slot, value] of [...before.slots].sort(([a], [b]) => (a < b ? -1 : 1))) {
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
