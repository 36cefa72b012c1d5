/**
 * The EVM in WebAssembly (src/kernel) as the rest of this room uses it: an instance, its memory, and the questions it
 * asks back. Owns how values cross; what a transaction is, and what it pays, is transaction.ts.
 */

import { randomBytes } from 'node:crypto'
import { type ForkName, forkNames } from '../chain/forks.js'
import { type Address, bytesToBigInt, type Hash32, toHash32 } from '../primitives/bytes.js'
import { emptyTrieRoot } from '../primitives/keccak.js'
import type { StateView } from '../state/stateView.js'
import { instantiateKernel, type KernelExports, type Offsets, readOffsets } from './kernelModule.js'

/** Why a message failed; numbers as `Failure` in src/kernel/frames.ts. */
export const failures = [
  'none',
  'outOfGas',
  'stackUnderflow',
  'stackOverflow',
  'invalidOpcode',
  'invalidJump',
  'writeProtection',
  'returnDataOutOfBounds',
  'gasOverflow',
  'depthReached',
  'insufficientBalance',
  'createCollision',
  'codeTooLarge',
  'codeStoreOutOfGas',
  'invalidCode',
  'initcodeTooLarge',
  'precompileFailed',
  'nonceOverflow',
  'reverted',
] as const
export type KernelFailure = (typeof failures)[number]

/** A precompiled contract: what it returns and the gas it used; undefined where it fails. */
export type PrecompileRun = (
  data: Uint8Array,
  gas: bigint,
) => { readonly output: Uint8Array; readonly gasUsed: bigint } | undefined

/** What a block gives its transactions. Words as numbers. */
export interface BlockWords {
  readonly coinbase: Uint8Array
  readonly timestamp: bigint
  readonly number: bigint
  /** Difficulty, or since the Merge the randomness. */
  readonly random: bigint
  readonly gasLimit: bigint
  readonly chainId: bigint
  readonly baseFee: bigint
  readonly blobBaseFee: bigint
}

/** What the kernel asks while it runs. */
export interface KernelHost {
  readonly state: StateView
  readonly ancestorHash: (number: number) => Hash32 | undefined
  /** By the number that {@link Kernel.setPrecompile} gave a contract. */
  readonly precompiles: ReadonlyMap<number, PrecompileRun>
  mayGoOn(): boolean
}

export interface KernelLog {
  readonly address: Uint8Array
  readonly topics: readonly Uint8Array[]
  readonly data: Uint8Array
}

// Places as in src/kernel/layout.ts and logs.ts.
const exchange = 0x1800
const contextWords = 0x1b00
const logAt = { account: 4, topicCount: 8, dataLength: 12, topics: 16 }

export class Kernel {
  readonly #exports: KernelExports
  readonly #at: Offsets
  #bytes: Uint8Array
  #view: DataView
  #host: KernelHost | undefined
  /** What a host function threw, to be thrown once the kernel is left. */
  #thrown: { readonly error: unknown } | undefined

  constructor() {
    const guarded =
      <A extends unknown[], R>(run: (...args: A) => R) =>
      (...args: A): R => {
        try {
          return run(...args)
        } catch (error) {
          this.#thrown ??= { error }
          throw error
        }
      }
    this.#exports = instantiateKernel({
      readAccount: guarded(() => this.#readAccount()),
      readSlot: guarded(() => this.#readSlot()),
      readCode: guarded(() => this.#readCode()),
      readBlockHash: guarded((number: bigint) => this.#readBlockHash(Number(number))),
      runPrecompile: guarded((id: number, input: number, length: number, gas: bigint) =>
        this.#runPrecompile(id, input, length, gas),
      ),
      mayGoOn: guarded(() => (this.#host?.mayGoOn() ? 1 : 0)),
    })
    this.#at = readOffsets(this.#exports)
    this.#bytes = new Uint8Array(this.#exports.memory.buffer)
    this.#view = new DataView(this.#exports.memory.buffer)
    this.clear()
  }

  /** Forgets all state. */
  clear(): void {
    this.#exports.clear(randomBytes(8).readBigUInt64LE())
  }

  /** Bytes that state, code, frames and logs may take together; a run that needs more is stopped. */
  limitHeap(bytesMax: number): void {
    this.#exports.limitHeap(bytesMax)
  }

  /** Whom to ask from now on. Another state wants {@link clear} too. */
  attach(host: KernelHost): void {
    this.#host = host
  }

  setFork(fork: ForkName): void {
    this.#exports.setFork(forkNames.indexOf(fork))
  }

  setBlock(words: BlockWords): void {
    const { coinbase, timestamp, number, random, gasLimit, chainId, baseFee, blobBaseFee } = words
    this.#putWord(contextWords + 64, bytesToBigInt(coinbase))
    this.#putWord(contextWords + 96, timestamp)
    this.#putWord(contextWords + 128, number)
    this.#putWord(contextWords + 160, random)
    this.#putWord(contextWords + 192, gasLimit)
    this.#putWord(contextWords + 224, chainId)
    this.#putWord(contextWords + 256, baseFee)
    this.#putWord(contextWords + 288, blobBaseFee)
  }

  /** Begins a transaction; what the one before it left is final. */
  begin(origin: Uint8Array, gasPrice: bigint, blobHashes: readonly Uint8Array[]): void {
    this.#exports.beginTransaction()
    this.#putWord(contextWords, bytesToBigInt(origin))
    this.#putWord(contextWords + 32, gasPrice)
    const at = blobHashes.length === 0 ? 0 : this.#exports.placeInput(blobHashes.length * 32)
    for (const [index, hash] of blobHashes.entries()) this.#putWord(at + index * 32, bytesToBigInt(hash))
    this.#exports.setBlobHashes(at, blobHashes.length)
  }

  end(): void {
    this.#exports.endAccounts()
  }

  revert(): void {
    this.#exports.revertTransaction()
  }

  /** A handle of an account. */
  account(address: Uint8Array): number {
    this.#current.set(address, exchange)
    return this.#exports.accountOf()
  }

  balanceOf(account: number): bigint {
    return this.#wordAt(account + this.#at.balance)
  }

  nonceOf(account: number): bigint {
    return this.#dataView.getBigUint64(account + this.#at.nonce, true)
  }

  exists(account: number): boolean {
    return this.#dataView.getUint32(account + this.#at.exists, true) !== 0
  }

  codeHashOf(account: number): Hash32 {
    return toHash32(this.#current.slice(account + this.#at.codeHash, account + this.#at.codeHash + 32))
  }

  codeOf(account: number): Uint8Array {
    const at = this.#exports.codeBytesOf(account)
    return this.#current.slice(at, at + this.#exports.codeLengthOf(account))
  }

  setPrecompile(address: Uint8Array, number: number): void {
    const account = this.account(address)
    this.#dataView.setUint32(account + this.#at.precompile, number, true)
  }

  setNonce(account: number, nonce: bigint): void {
    this.#exports.changeNonce(account, nonce)
  }

  credit(account: number, wei: bigint): void {
    this.#putBig(exchange, wei)
    this.#exports.creditBalance(account)
  }

  debit(account: number, wei: bigint): void {
    this.#putBig(exchange, wei)
    this.#exports.debitBalance(account)
  }

  setCode(account: number, code: Uint8Array): void {
    const at = this.#exports.placeInput(code.length)
    this.#current.set(code, at)
    this.#exports.changeCode(account, at, code.length)
  }

  warm(account: number): void {
    this.#exports.warmAccount(account)
  }

  warmSlot(account: number, key: Uint8Array): void {
    this.#current.set(key, exchange)
    this.#exports.warmSlotOf(this.#exports.slotOf(account))
  }

  /** Runs a message to the end. `to` undefined: a creation by the nonce. */
  run(
    sender: number,
    to: number | undefined,
    nonce: bigint,
    value: bigint,
    data: Uint8Array,
    gas: bigint,
  ): { readonly failure: KernelFailure; readonly gasLeft: bigint } {
    const input = this.#exports.placeInput(data.length)
    this.#current.set(data, input)
    this.#putBig(exchange, value)
    try {
      if (to === undefined) this.#exports.runCreation(sender, nonce, input, data.length, gas)
      else this.#exports.runCall(sender, to, input, data.length, gas)
    } catch (error) {
      const thrown = this.#thrown
      this.#thrown = undefined
      throw thrown === undefined ? error : thrown.error
    }
    return {
      failure: failures[this.#exports.why.value as number] as KernelFailure,
      gasLeft: this.#exports.gasLeft.value as bigint,
    }
  }

  get refund(): bigint {
    return this.#exports.refund.value as bigint
  }

  get output(): Uint8Array {
    const at = this.#exports.returned.value as number
    return this.#current.slice(at, at + (this.#exports.returnedLength.value as number))
  }

  get logs(): KernelLog[] {
    const logs: KernelLog[] = []
    const view = this.#dataView
    for (let at = this.#exports.newestLog.value as number; at !== 0; at = view.getUint32(at, true)) {
      const topics: Uint8Array[] = []
      for (let i = 0; i < view.getUint32(at + logAt.topicCount, true); i++) {
        topics.push(this.#current.slice(at + logAt.topics + i * 32, at + logAt.topics + i * 32 + 32))
      }
      const length = view.getUint32(at + logAt.dataLength, true)
      const data = at + logAt.topics + topics.length * 32
      logs.push({
        address: this.addressOf(view.getUint32(at + logAt.account, true)),
        topics,
        data: this.#current.slice(data, data + length),
      })
    }
    return logs.reverse()
  }

  /** Every account that changed since this was asked last, as handles. */
  *takeChanged(): Generator<number> {
    for (
      let at = this.#exports.takeListed();
      at !== 0;
      at = this.#dataView.getUint32(at + this.#at.nextListed, true)
    ) {
      yield at
    }
  }

  addressOf(account: number): Uint8Array {
    return this.#reversed(account + 64).subarray(12)
  }

  /** Whether slots that the state below has of the account are gone. */
  isWiped(account: number): boolean {
    return this.#dataView.getUint32(account + this.#at.incarnation, true) !== 0
  }

  /** Key and value of each slot of the account that was touched, 32 bytes each. */
  *slotsOf(account: number): Generator<readonly [Uint8Array, Uint8Array]> {
    const view = this.#dataView
    const incarnation = view.getUint32(account + this.#at.incarnation, true)
    let at = view.getUint32(account + this.#at.slots, true)
    for (; at !== 0; at = view.getUint32(at + this.#at.nextOfAccount, true)) {
      const isCurrent = view.getUint32(at + this.#at.slotIncarnation, true) === incarnation
      yield [
        this.#reversed(at + this.#at.key),
        isCurrent ? this.#reversed(at + this.#at.value) : new Uint8Array(32),
      ]
    }
  }

  get #current(): Uint8Array {
    if (this.#bytes.length === 0) this.#refresh()
    return this.#bytes
  }

  get #dataView(): DataView {
    if (this.#bytes.length === 0) this.#refresh()
    return this.#view
  }

  #refresh(): void {
    this.#bytes = new Uint8Array(this.#exports.memory.buffer)
    this.#view = new DataView(this.#exports.memory.buffer)
  }

  #putWord(at: number, value: bigint): void {
    const view = this.#dataView
    for (let limb = 0; limb < 4; limb++)
      view.setBigUint64(at + limb * 8, BigInt.asUintN(64, value >> BigInt(limb * 64)), true)
  }

  #putBig(at: number, value: bigint): void {
    const view = this.#dataView
    for (let limb = 0; limb < 4; limb++)
      view.setBigUint64(at + 24 - limb * 8, BigInt.asUintN(64, value >> BigInt(limb * 64)))
  }

  #wordAt(at: number): bigint {
    const view = this.#dataView
    let value = 0n
    for (let limb = 3; limb >= 0; limb--) value = (value << 64n) | view.getBigUint64(at + limb * 8, true)
    return value
  }

  #reversed(at: number): Uint8Array {
    return this.#current.slice(at, at + 32).reverse()
  }

  #readAccount(): number {
    const address = this.#current.slice(exchange, exchange + 20) as Uint8Array as Address
    const account = this.#host?.state.account(address)
    if (account === undefined) return 0
    this.#dataView.setBigUint64(exchange, account.nonce)
    this.#putBig(exchange + 8, account.balance)
    const bytes = this.#current
    bytes.set(account.codeHash, exchange + 40)
    bytes[exchange + 72] = Buffer.compare(account.storageRoot, emptyTrieRoot) === 0 ? 0 : 1
    return 1
  }

  #readSlot(): number {
    const bytes = this.#current
    const address = bytes.slice(exchange, exchange + 20) as Uint8Array as Address
    const value = this.#host?.state.slot(address, toHash32(bytes.slice(exchange + 20, exchange + 52)))
    if (value === undefined) return 0
    bytes.fill(0, exchange, exchange + 32)
    bytes.set(value, exchange + 32 - value.length)
    return 1
  }

  #readCode(): number {
    const hash = toHash32(this.#current.slice(exchange, exchange + 32))
    const code = this.#host?.state.code(hash)
    if (code === undefined) throw new Error('code is missing')
    const at = this.#exports.placeCode(code.length)
    this.#current.set(code, at)
    return at
  }

  #readBlockHash(number: number): number {
    const hash = this.#host?.ancestorHash(number)
    if (hash === undefined) return 0
    this.#current.set(hash, exchange)
    return 1
  }

  #runPrecompile(number: number, input: number, length: number, gas: bigint): bigint {
    const run = this.#host?.precompiles.get(number)
    if (run === undefined) throw new Error(`there is no precompiled contract ${number}`)
    const result = run(this.#current.slice(input, input + length), gas)
    if (result === undefined) return -1n
    // A price may be beyond 64 bits.
    if (result.gasUsed > gas) return gas + 1n
    if (result.output.length > 0) {
      const at = this.#exports.placeOutput(result.output.length)
      this.#current.set(result.output, at)
    }
    return result.gasUsed
  }
}
