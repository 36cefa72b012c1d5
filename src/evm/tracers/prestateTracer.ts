/**
 * go-ethereum's `prestateTracer` (eth/tracers/native/prestate.go): the accounts and slots that a transaction uses, as
 * they were before it; with `diffMode`, those that it changes, before and after.
 */
import { includesFork } from '../../chain/forks.js'
import { bytesToHex, equalBytes, type Hash32, hexToBytes } from '../../primitives/bytes.js'
import type { JsonBytes } from '../../primitives/jsonBytes.js'
import { emptyCodeHash } from '../../primitives/keccak.js'
import type { KernelStep } from '../engine/kernelTrace.js'
import { create, create2, selfdestruct } from './callFrames.js'
import type { AccountNow, TracedTransaction, TraceOutput, Tracer } from './tracer.js'

export interface PrestateTracerOptions {
  readonly diffMode: boolean
  readonly disableCode: boolean
  readonly disableStorage: boolean
  /** Whether accounts that did not exist are listed. Never with `diffMode`. */
  readonly includeEmpty: boolean
}

interface Before extends AccountNow {
  /** Key → value, hex. */
  readonly slots: Map<string, string>
  readonly isEmpty: boolean
}

interface After {
  balance?: bigint
  nonce?: bigint
  codeHash?: Hash32
  code?: Uint8Array
  readonly slots: Map<string, string>
}

const sload = 0x54
const sstore = 0x55
/** BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH, SELFDESTRUCT. */
const namingAccount = [0x31, 0x3b, 0x3c, 0x3f, selfdestruct]
/** CALL, CALLCODE, DELEGATECALL, STATICCALL. */
const calling = [0xf1, 0xf2, 0xf4, 0xfa]

const noSlots = new Map<string, string>()
const zeroSlot = `0x${'0'.repeat(64)}`
/** Memory of an account, besides its code, and of a slot. */
const itemBytes = 500

export class PrestateTracer implements Tracer {
  readonly opcodes = [sload, sstore, ...namingAccount, ...calling, create, create2]
  readonly #options: PrestateTracerOptions
  /** By address as hex. */
  readonly #before = new Map<string, Before>()
  readonly #destroyed = new Set<string>()
  #heldBytes = 0
  #step: KernelStep | undefined
  #transaction!: TracedTransaction
  #output!: TraceOutput

  constructor(options: PrestateTracerOptions) {
    this.#options = options
  }

  begin(transaction: TracedTransaction, output: TraceOutput): void {
    this.#before.clear()
    this.#destroyed.clear()
    this.#heldBytes = 0
    this.#transaction = transaction
    this.#output = output
    const { sender, target, isCreation, coinbase, authorizationList, state } = transaction
    this.#find(sender)
    this.#find(target)
    if (!isCreation) this.#findDelegate(target)
    this.#find(coinbase)
    if (authorizationList.length === 0) return
    for (const signer of state.signersOf(authorizationList)) this.#find(signer)
  }

  step(step: KernelStep): void {
    this.#step = step
  }

  /** What an instruction names counts once it is paid; its stack is still as before it. */
  cost(): void {
    const step = this.#step as KernelStep
    const { opcode } = step
    const operand = (index: number) => addressOf(step.stackWord(index))
    if (opcode === sload || opcode === sstore) this.#findSlot(step.address, toWord(step.stackWord(0)))
    else if (namingAccount.includes(opcode)) {
      this.#find(operand(0))
      if (opcode === selfdestruct) this.#destroyed.add(bytesToHex(step.address))
    } else if (calling.includes(opcode)) {
      this.#find(operand(1))
      this.#findDelegate(operand(1))
    }
  }

  creation(address: Uint8Array): void {
    this.#find(address)
  }

  #find(address: Uint8Array): Before {
    const key = bytesToHex(address)
    const known = this.#before.get(key)
    if (known !== undefined) return known
    const now = this.#transaction.state.account(address)
    const isEmpty = now.balance === 0n && now.nonce === 0n && now.code.length === 0
    const found = { ...now, slots: new Map(), isEmpty }
    this.#before.set(key, found)
    this.#hold(itemBytes + now.code.length)
    return found
  }

  #findDelegate(address: Uint8Array): void {
    if (!includesFork(this.#transaction.fork, 'prague')) return
    const delegate = this.#transaction.state.delegateOf(address)
    if (delegate !== undefined) this.#find(delegate)
  }

  #findSlot(address: Uint8Array, key: Uint8Array): void {
    if (this.#options.disableStorage) return
    const { slots } = this.#find(address)
    const name = bytesToHex(key)
    if (slots.has(name)) return
    slots.set(name, bytesToHex(this.#transaction.state.slot(address, key)))
    this.#hold(itemBytes)
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes
    this.#output.holding(this.#heldBytes)
  }

  end(): void {
    const { json } = this.#output
    const { diffMode, includeEmpty } = this.#options
    const after = diffMode ? this.#takeChanges() : undefined
    if (after !== undefined) {
      json.text('{"post":')
      this.#writeState(after)
      json.text(',"pre":')
    }
    const isListed = ({ isEmpty }: Before) => includeEmpty || !isEmpty
    this.#writeState(new Map([...this.#before].filter(([, account]) => isListed(account))))
    if (diffMode) json.text('}')
  }

  /** Members that the transaction changed. Removes from {@link #before} what it left as it was. */
  #takeChanges(): Map<string, After> {
    const { state } = this.#transaction
    const after = new Map<string, After>()
    for (const [key, before] of this.#before) {
      const address = hexToBytes(key.slice(2))
      const now = state.account(address)
      // Listed with all that it was, and not with what it is no more.
      if (this.#destroyed.has(key) && !now.exists) continue
      const change = changeOf(before, now, this.#options)
      let isChanged = Object.keys(change).length > 1
      for (const [slot, value] of [...before.slots]) {
        const held = bytesToHex(state.slot(address, hexToBytes(slot.slice(2))))
        if (value === zeroSlot || value === held) before.slots.delete(slot)
        if (value === held) continue
        isChanged = true
        if (held !== zeroSlot) change.slots.set(slot, held)
      }
      if (isChanged) after.set(key, change)
      else this.#before.delete(key)
    }
    return after
  }

  #writeState(accounts: ReadonlyMap<string, Before | After>): void {
    const { json } = this.#output
    const { disableCode } = this.#options
    json.text('{')
    let count = 0
    for (const [address, account] of sorted(accounts)) {
      json.text(`${count++ > 0 ? ',' : ''}"${address}":{`)
      writeAccount(json, 'isEmpty' in account ? listed(account, disableCode) : account)
      json.text('}')
      this.#output.flush()
    }
    json.text('}')
  }
}

/** The members of an account that are listed: code and its hash only where there is some. */
function listed({ balance, nonce, code, codeHash, slots }: Before, disableCode: boolean): After {
  if (code.length === 0) return { balance, nonce, slots }
  return { balance, nonce, slots, codeHash, ...(disableCode ? {} : { code }) }
}

function changeOf(before: Before, now: AccountNow, { disableCode }: PrestateTracerOptions): After {
  const change: After = { slots: new Map() }
  if (now.balance !== before.balance) change.balance = now.balance
  if (now.nonce !== before.nonce) change.nonce = now.nonce
  // As in go-ethereum, an account that does not exist before is compared as one without code.
  if (!equalBytes(now.codeHash, before.exists ? before.codeHash : emptyCodeHash)) {
    change.codeHash = now.codeHash
    // That code was removed is told, not that there is none before and after.
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
  json.text(
    `{${sorted(slots)
      .map(([slot, value]) => `"${slot}":"${value}"`)
      .join()}}`,
  )
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1))
}

function toWord(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex')
}

function addressOf(value: bigint): Uint8Array {
  return toWord(value).subarray(12)
}
