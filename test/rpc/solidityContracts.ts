/** Solidity contracts, compiled, and executed by a separate EVM. */
import { readFileSync } from 'node:fs'
import { Common, Hardfork, Mainnet } from '@ethereumjs/common'
import { createEVM, type EVM } from '@ethereumjs/evm'
import { SimpleStateManager } from '@ethereumjs/statemanager'
import { Account, Address } from '@ethereumjs/util'
import solc from 'solc'

export interface Compiled {
  readonly creationCode: Uint8Array
  readonly storageLayout: unknown
}

/** Compiles one file and returns the contract of that name. Throws with the compiler's message. */
export function compile(path: string, name: string): Compiled {
  const input = {
    language: 'Solidity',
    sources: { 'contract.sol': { content: readFileSync(path, 'utf8') } },
    settings: { outputSelection: { '*': { '*': ['evm.bytecode.object', 'storageLayout'] } } },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input)))
  const fault = output.errors?.find((each: { severity: string }) => each.severity === 'error')
  if (fault !== undefined) throw new Error(fault.formattedMessage)
  const { evm, storageLayout } = output.contracts['contract.sol'][name]
  return { creationCode: Uint8Array.from(Buffer.from(evm.bytecode.object, 'hex')), storageLayout }
}

/** An account with code and storage, which can be called. */
export class RunningContract {
  readonly #evm: EVM
  readonly #state: SimpleStateManager

  private constructor(
    readonly address: Uint8Array,
    evm: EVM,
    state: SimpleStateManager,
  ) {
    this.#evm = evm
    this.#state = state
  }

  /** Runs a constructor. */
  static async create(creationCode: Uint8Array): Promise<RunningContract> {
    const { evm, state } = await RunningContract.#machine()
    const { createdAddress, execResult } = await evm.runCall({ data: creationCode, gasLimit: 1_000_000_000n })
    if (execResult.exceptionError) throw new Error(execResult.exceptionError.error)
    return new RunningContract((createdAddress as Address).bytes, evm, state)
  }

  /** Puts code and slots (32 bytes each) at an address. */
  static async load(
    address: Uint8Array,
    code: Uint8Array,
    slots: Iterable<readonly [Uint8Array, Uint8Array]>,
  ): Promise<RunningContract> {
    const { evm, state } = await RunningContract.#machine()
    const account = new Address(address)
    await state.putAccount(account, new Account())
    await state.putCode(account, code)
    for (const [slot, value] of slots) await state.putStorage(account, slot, value)
    return new RunningContract(address, evm, state)
  }

  static async #machine() {
    const common = new Common({ chain: Mainnet, hardfork: Hardfork.Prague })
    const state = new SimpleStateManager({ common })
    const evm = await createEVM({ common, stateManager: state, allowUnlimitedContractSize: true })
    return { evm, state }
  }

  /** The output of a call. Throws if it fails. */
  async call(data: Uint8Array): Promise<Uint8Array> {
    const { execResult } = await this.#evm.runCall({
      to: new Address(this.address),
      data,
      gasLimit: 100_000_000n,
    })
    if (execResult.exceptionError) throw new Error(execResult.exceptionError.error)
    return execResult.returnValue
  }

  /** The slots that are not zero, by their 64 hex digits. */
  get slots(): ReadonlyMap<string, Uint8Array> {
    const prefix = `${new Address(this.address).toString()}_`
    const slots = new Map<string, Uint8Array>()
    for (const [key, value] of this.#state.storageStack.at(-1) ?? []) {
      if (key.startsWith(prefix)) slots.set(key.slice(-64), value)
    }
    return slots
  }
}
