/** Answers the kernel's calls to its host (src/execution/kernel/host.ts). */

import type { UnknownFeatures } from '../../../data/chain/executionRules.js'
import type { StateView } from '../../../data/state/stateView.js'
import {
  type Address,
  bytesToHex,
  type Hash32,
  hexDigits,
  latin1Key,
  toHash32,
} from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { emptyTrieRoot } from '../../../primitives/keccak.js'
import type { JobWatch } from './jobWatch.js'
import type { KernelMemory } from './kernelMemory.js'
import type { KernelExports, KernelImports } from './kernelModule.js'

/** A precompiled contract: returns its output and the gas used; undefined if it fails. */
type PrecompileRun = (
  data: Uint8Array,
  gas: bigint,
) => { readonly output: Uint8Array; readonly gasUsed: bigint } | undefined

export interface PrecompileRuns {
  get(number: number): PrecompileRun | undefined
}

export interface PrecompileSet {
  /** Numbers by address, by {@link latin1Key}. */
  readonly numbers: ReadonlyMap<string, number>
  /** Addresses that are warm from the start (EIP-2929), by {@link latin1Key}: the fork's own, even if moved. */
  readonly warm: { has(address: string): boolean }
  readonly runs: PrecompileRuns
}

/** Answers the kernel. An exception in an answer ends the run, which throws it. */
export interface KernelHost {
  readonly state: StateView
  readonly ancestorHash: (number: number) => Hash32 | undefined
  readonly precompiles: PrecompileSet
  /** Checked every 200,000 gas ({@link Kernel.setLookEvery}), before work on many bytes, and by answers. */
  readonly watch: JobWatch | undefined
  /** Features that differ on this chain, at which a run ends with NotProved; if absent, none. */
  readonly unknown?: UnknownFeatures | undefined
}

/** Throws NotProved for a feature that differs from Ethereum's: only a node of the chain can execute it. */
export function giveUp(what: string): never {
  throw new FaultError({ kind: 'NotProved', why: `${what} has another meaning on this chain` })
}

/** Address of the exchange, as in src/execution/kernel/layout.ts. */
export const exchange = 0x1800

/** Steps counted per read: some microseconds at the head, a tenth of a millisecond for non-canonical blocks. */
const answerSteps = 32

/** Blocks whose hashes BLOCKHASH can return in one block. */
const hashesMax = 256

/** Bytes of code that are copied, and searched for jump destinations, in a step. */
const codeBytesPerStep = 64

export class KernelAnswers implements KernelImports {
  host: KernelHost | undefined
  #memory!: KernelMemory
  #exports!: KernelExports
  /** Hashes that this host returned. */
  readonly #hashes = new Map<bigint, Hash32>()
  #hashesOf: KernelHost | undefined

  /** Call it before anything runs. */
  answerWith(exports: KernelExports, memory: KernelMemory): void {
    this.#exports = exports
    this.#memory = memory
  }

  readonly mayGoOn = (steps: number) => this.#answer(() => 1, steps)

  readonly readAccount = () =>
    this.#answer(({ state, precompiles, unknown }) => {
      const memory = this.#memory
      const address = memory.slice(exchange, 20) as Address
      if (unknown?.addresses.has(hexDigits(address))) giveUp(`the contract ${bytesToHex(address)}`)
      const key = latin1Key(address)
      memory.bytes[exchange + 73] = precompiles.warm.has(key) ? 1 : 0
      memory.view.setUint32(exchange + 76, precompiles.numbers.get(key) ?? 0, true)
      const account = state.account(address)
      if (account === undefined) return 0
      memory.view.setBigUint64(exchange, account.nonce)
      memory.putNumber(exchange + 8, account.balance)
      memory.put(exchange + 40, account.codeHash, 32)
      memory.bytes[exchange + 72] = Buffer.compare(account.storageRoot, emptyTrieRoot) === 0 ? 0 : 1
      return 1
    })

  readonly readSlot = () =>
    this.#answer(({ state }) => {
      const memory = this.#memory
      const key = toHash32(memory.slice(exchange + 20, 32))
      const value = state.slot(memory.slice(exchange, 20) as Address, key)
      if (value === undefined) return 0
      memory.putRight(exchange, value)
      return 1
    })

  readonly readCode = () =>
    this.#answer(({ state, watch, unknown }) => {
      const hash = toHash32(this.#memory.slice(exchange, 32))
      const code = state.code(hash)
      const prefix = unknown?.codePrefix
      if (
        prefix !== undefined &&
        code !== undefined &&
        hexDigits(code.subarray(0, prefix.length / 2)) === prefix
      )
        giveUp(`code that begins with 0x${prefix}`)
      if (code === undefined) throw new Error(`code ${Buffer.from(hash).toString('hex')} is missing`)
      watch?.take(code.length / codeBytesPerStep)
      const at = this.#exports.placeCode(code.length)
      this.#memory.put(at, code, code.length)
      return at
    })

  readonly readBlockHash = (number: bigint) =>
    this.#answer((host) => {
      if (this.#hashesOf !== host || this.#hashes.size >= hashesMax) this.#hashes.clear()
      this.#hashesOf = host
      let hash = this.#hashes.get(number)
      if (hash === undefined) {
        // For a non-canonical block the look-up is a walk from parent to parent.
        host.watch?.look()
        hash = host.ancestorHash(Number(number))
        if (hash === undefined) return 0
        this.#hashes.set(number, hash)
      }
      this.#memory.put(exchange, hash, 32)
      return 1
    })

  readonly runPrecompile = (number: number, input: number, length: number, gas: bigint) =>
    this.#answer(({ precompiles }) => {
      const run = precompiles.runs.get(number)
      if (run === undefined) throw new Error(`there is no precompiled contract ${number}`)
      const result = run(this.#memory.slice(input, length), gas)
      if (result === undefined) return -1n
      const { output, gasUsed } = result
      if (gasUsed <= gas && output.length > 0) {
        this.#memory.put(this.#exports.placeOutput(output.length), output, output.length)
      }
      // The gas may exceed 64 bits.
      return gasUsed <= gas ? gasUsed : gas + 1n
    })

  #answer<T>(find: (host: KernelHost) => T, steps = answerSteps): T {
    if (this.host === undefined) throw new Error('a kernel needs a host')
    this.host.watch?.take(steps)
    return find(this.host)
  }
}
