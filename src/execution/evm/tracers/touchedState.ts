/**
 * The accounts and slots that a transaction can read or change, with their earlier values, for tracers that compare
 * states. Owns the selection, which follows go-ethereum's prestateTracer.
 */
import { forkRules } from '../../../data/chain/forkRules.js'
import { includesFork } from '../../../data/chain/forks.js'
import { bytesToHex } from '../../../primitives/bytes.js'
import type { KernelStep } from '../engine/kernelTrace.js'
import { calling, create, create2, selfdestruct, sload, sstore } from '../engine/opcodeNames.js'
import { type AccountNow, TransactionTracer } from './tracer.js'

export interface Before extends AccountNow {
  /** Key → value, hex. */
  readonly slots: Map<string, string>
  readonly isEmpty: boolean
}

/** Value of a slot that was never written. */
export const zeroSlot = `0x${'0'.repeat(64)}`

/** BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH, SELFDESTRUCT. */
const namingAccount = [0x31, 0x3b, 0x3c, 0x3f, selfdestruct]

/** Memory of an account without its code, and of a slot. */
const itemBytes = 500

export abstract class TouchedState extends TransactionTracer {
  override readonly opcodes = [sload, sstore, ...namingAccount, ...calling, create, create2]
  /** Values by address as hex. */
  protected readonly before = new Map<string, Before>()
  /** Addresses of accounts that destroyed themselves, perhaps in a call that was undone. */
  protected readonly destroyed = new Set<string>()
  readonly #findsSlots: boolean
  #step: KernelStep | undefined

  constructor(findsSlots = true) {
    super()
    this.#findsSlots = findsSlots
  }

  protected override begun(): void {
    const { sender, target, isCreation, coinbase, authorizationList, state, fork } = this.transaction
    this.#find(sender)
    this.#find(target)
    if (!isCreation) this.#findDelegate(target)
    this.#find(coinbase)
    const signers = authorizationList.length === 0 ? [] : state.signersOf(authorizationList)
    for (const signer of signers) this.#find(signer)
    const receiver = forkRules(fork).execution.baseFeeReceiver
    if (receiver !== undefined) this.#find(receiver)
  }

  step(step: KernelStep): void {
    this.#step = step
  }

  /** Accounts and slots of an instruction count once it is paid; its stack is still the one before it. */
  cost(): void {
    const step = this.#step as KernelStep
    const { opcode } = step
    const operand = (index: number) => addressOf(step.stackWord(index))
    if (opcode === sload || opcode === sstore) this.#findSlot(step.address, toWord(step.stackWord(0)))
    else if (namingAccount.includes(opcode)) {
      this.#find(operand(0))
      if (opcode === selfdestruct) this.destroyed.add(bytesToHex(step.address))
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
    const known = this.before.get(key)
    if (known !== undefined) return known
    const now = this.transaction.state.account(address)
    const isEmpty = now.balance === 0n && now.nonce === 0n && now.code.length === 0
    const found = { ...now, slots: new Map(), isEmpty }
    this.before.set(key, found)
    this.hold(itemBytes + now.code.length)
    return found
  }

  #findDelegate(address: Uint8Array): void {
    if (!includesFork(this.transaction.fork, 'prague')) return
    const delegate = this.transaction.state.delegateOf(address)
    if (delegate !== undefined) this.#find(delegate)
  }

  #findSlot(address: Uint8Array, key: Uint8Array): void {
    if (!this.#findsSlots) return
    const { slots } = this.#find(address)
    const name = bytesToHex(key)
    if (slots.has(name)) return
    slots.set(name, bytesToHex(this.transaction.state.slot(address, key)))
    this.hold(itemBytes)
  }
}

function toWord(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex')
}

function addressOf(value: bigint): Uint8Array {
  return toWord(value).subarray(12)
}
