/** The kernel and @ethereumjs, each ready to run the same message again and again on the same state. */
import { Common, Mainnet } from '@ethereumjs/common'
import { createEVM } from '@ethereumjs/evm'
import { SimpleStateManager } from '@ethereumjs/statemanager'
import { Account, Address as EvmAddress } from '@ethereumjs/util'
import { Kernel } from '../../src/evm/engine/kernel.js'
import { forkPrecompiles } from '../../src/evm/precompiles/precompileMoves.js'
import { type Address, type Hash32, hexToBytes, latin1Key, padLeft } from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'
import type { StateView } from '../../src/state/stateView.js'
import { caller, type Workload } from './kernelWorkloads.js'

const fork = 'osaka'
const block = {
  coinbase: padLeft(Uint8Array.of(0xcb), 20),
  timestamp: 2_000_000_000n,
  number: 1_000_000n,
  random: 1n << 200n,
  gasLimit: 36_000_000n,
  chainId: 1n,
  baseFee: 0n,
  blobBaseFee: 1n,
  slotNumber: 0n,
}

/** Runs the message and undoes its changes; returns the gas used. */
export type RunOnce = () => bigint

export function onKernel(state: StateView, { to, data, gas, code }: Workload): RunOnce {
  const kernel = new Kernel()
  const precompiles = forkPrecompiles(fork, undefined)
  kernel.attach({ state, ancestorHash: () => undefined, precompiles, watch: undefined })
  kernel.setFork(fork)
  kernel.setBlock(block)
  const sender = kernel.account(caller)
  const target = kernel.account(to)
  if (code !== undefined) {
    kernel.begin(caller, 0n, [])
    kernel.setCode(target, code)
    kernel.end()
  }
  return () => {
    kernel.begin(caller, 0n, [])
    kernel.warm(sender)
    kernel.warm(target)
    const { gasLeft } = kernel.run(sender, target, 0n, 0n, data, gas)
    kernel.revert()
    return gas - gasLeft
  }
}

/** The state that a run reads. */
interface Touched {
  readonly accounts: Map<string, Address>
  readonly slots: (readonly [Address, Hash32])[]
}

function touchedBy(state: StateView, workload: Workload): Touched {
  const accounts = new Map<string, Address>()
  const slots: [Address, Hash32][] = []
  const watched: StateView = {
    stateRoot: state.stateRoot,
    account(address) {
      accounts.set(latin1Key(address), address)
      return state.account(address)
    },
    slot(address, slot) {
      slots.push([address, slot])
      return state.slot(address, slot)
    },
    slotsOf: (address) => state.slotsOf(address),
    code: (hash) => state.code(hash),
    tries: state.tries,
    hasRows: state.hasRows,
  }
  onKernel(watched, workload)()
  return { accounts, slots }
}

/** As {@link onKernel}, by @ethereumjs with all state in memory. */
export async function onLibrary(state: StateView, workload: Workload): Promise<() => Promise<bigint>> {
  const { to, data, gas, code } = workload
  const stateManager = new SimpleStateManager()
  const { accounts, slots } = touchedBy(state, workload)
  for (const address of accounts.values()) {
    const account = state.account(address)
    if (account === undefined) continue
    const at = new EvmAddress(address)
    await stateManager.putAccount(at, new Account(account.nonce, account.balance))
    const found = state.code(account.codeHash)
    if (found !== undefined && found.length > 0) await stateManager.putCode(at, found)
  }
  if (code !== undefined) {
    await stateManager.putAccount(new EvmAddress(to), new Account(1n, 0n))
    await stateManager.putCode(new EvmAddress(to), code)
  }
  for (const [address, slot] of slots) {
    await stateManager.putStorage(
      new EvmAddress(address),
      slot,
      state.slot(address, slot) ?? new Uint8Array(0),
    )
  }
  const evm = await createEVM({ common: new Common({ chain: Mainnet, hardfork: fork }), stateManager })
  const header = {
    ...block,
    coinbase: new EvmAddress(block.coinbase),
    difficulty: 0n,
    prevRandao: keccak256(hexToBytes('00')),
    baseFeePerGas: block.baseFee,
    getBlobGasPrice: () => block.blobBaseFee,
  }
  const message = {
    caller: new EvmAddress(caller),
    to: new EvmAddress(to),
    data,
    gasLimit: gas,
    gasPrice: 0n,
  }
  return async () => {
    await stateManager.checkpoint()
    await evm.journal.cleanJournal()
    evm.journal.addWarmedAddress(caller)
    evm.journal.addWarmedAddress(to)
    const { execResult } = await evm.runCall({
      ...message,
      block: { header } as never,
      skipNonceIncrement: true,
    })
    await stateManager.revert()
    return execResult.executionGasUsed
  }
}
