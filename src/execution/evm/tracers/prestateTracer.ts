/**
 * go-ethereum's `prestateTracer` (eth/tracers/native/prestate.go): the accounts and slots that a transaction uses, with
 * their values before it; with `diffMode`, those that it changes, before and after.
 */
import { bytesToHex, equalBytes, type Hash32, hexToBytes } from '../../../primitives/bytes.js'
import type { JsonBytes } from '../../../primitives/jsonBytes.js'
import { emptyCodeHash } from '../../../primitives/keccak.js'
import { type Before, TouchedState, zeroSlot } from './touchedState.js'
import { type AccountNow, byName } from './tracer.js'

export interface PrestateTracerOptions {
  readonly diffMode: boolean
  readonly disableCode: boolean
  readonly disableStorage: boolean
  /** Whether accounts that did not exist are listed. Never with `diffMode`. */
  readonly includeEmpty: boolean
}

interface After {
  balance?: bigint
  nonce?: bigint
  codeHash?: Hash32
  code?: Uint8Array
  readonly slots: Map<string, string>
}

const noSlots = new Map<string, string>()
export class PrestateTracer extends TouchedState {
  readonly #options: PrestateTracerOptions

  constructor(options: PrestateTracerOptions) {
    super(!options.disableStorage)
    this.#options = options
  }

  end(): void {
    const { json } = this.output
    const { diffMode, includeEmpty } = this.#options
    const after = diffMode ? this.#takeChanges() : undefined
    if (after !== undefined) {
      json.text('{"post":')
      this.#writeState(after)
      json.text(',"pre":')
    }
    const isListed = ({ isEmpty }: Before) => includeEmpty || !isEmpty
    this.#writeState(new Map([...this.before].filter(([, account]) => isListed(account))))
    if (diffMode) json.text('}')
  }

  /** Members that the transaction changed. Drops entries of `before` whose value did not change. */
  #takeChanges(): Map<string, After> {
    const { state } = this.transaction
    const after = new Map<string, After>()
    for (const [key, before] of this.before) {
      const address = hexToBytes(key.slice(2))
      const now = state.account(address)
      // A destroyed account is listed with all its earlier members, and without later ones.
      if (this.destroyed.has(key) && !now.exists) continue
      const change = changeOf(before, now, this.#options)
      let isChanged = Object.keys(change).length > 1
      for (const [slot, value] of [...before.slots]) {
        const current = bytesToHex(state.slot(address, hexToBytes(slot.slice(2))))
        if (value === zeroSlot || value === current) before.slots.delete(slot)
        if (value === current) continue
        isChanged = true
        if (current !== zeroSlot) change.slots.set(slot, current)
      }
      if (isChanged) after.set(key, change)
      else this.before.delete(key)
    }
    return after
  }

  #writeState(accounts: ReadonlyMap<string, Before | After>): void {
    const { json } = this.output
    const { disableCode } = this.#options
    this.writeAll('{}', byName(accounts), ([address, account]) => {
      json.text(`"${address}":{`)
      writeAccount(json, 'isEmpty' in account ? listed(account, disableCode) : account)
      json.text('}')
    })
  }
}

/** The members of an account that are listed: code and its hash only if there is code. */
function listed({ balance, nonce, code, codeHash, slots }: Before, disableCode: boolean): After {
  if (code.length === 0) return { balance, nonce, slots }
  return { balance, nonce, slots, codeHash, ...(disableCode ? {} : { code }) }
}

function changeOf(before: Before, now: AccountNow, { disableCode }: PrestateTracerOptions): After {
  const change: After = { slots: new Map() }
  if (now.balance !== before.balance) change.balance = now.balance
  if (now.nonce !== before.nonce) change.nonce = now.nonce
  // As in go-ethereum, an account that did not exist before is compared as one without code.
  if (!equalBytes(now.codeHash, before.exists ? before.codeHash : emptyCodeHash)) {
    change.codeHash = now.codeHash
    // Removed code is listed as empty; an account without code before and after lists none.
    if (!disableCode && !equalBytes(now.code, before.code)) change.code = now.code
  }
  return change
}

/** Members as in go-ethereum: a nonce that is zero is left out. */
function writeAccount(json: JsonBytes, account: After): void {
  const { balance, nonce = 0n, codeHash, code, slots } = account
  let count = 0
  const name = (text: string) => json.text(`${count++ > 0 ? ',' : ''}"${text}":`)
  if (balance !== undefined) {
    name('balance')
    json.quantity(balance)
  }
  if (code !== undefined) {
    name('code')
    json.hex(code)
  }
  if (codeHash !== undefined) {
    name('codeHash')
    json.hex(codeHash)
  }
  if (nonce !== 0n) {
    name('nonce')
    json.text(String(nonce))
  }
  if ((slots ?? noSlots).size === 0) return
  name('storage')
  json.text(JSON.stringify(Object.fromEntries(byName(slots))))
}
