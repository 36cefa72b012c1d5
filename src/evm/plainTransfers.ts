/**
 * Messages that run no code, because their recipient has none: answered from a few reads without a kernel, on the
 * calling thread. Owns which messages these are; rules, prices and faults are those of {@link Execution}, by the same
 * functions.
 */
import { LRUCache } from 'lru-cache'
import { type ForkSchedule, includesFork } from '../chain/forks.js'
import { type Address, equalBytes, mapKey } from '../primitives/bytes.js'
import { hasCode } from '../state/account.js'
import type { ChainRows } from '../store/chainRows.js'
import { BlockContexts, type ResolvedContext } from './blockContext.js'
import { BlockStates, statusOf } from './blockState.js'
import type { ExecutionRequest } from './executionRequest.js'
import { startCall, startEstimate } from './gasBounds.js'
import { startGas } from './pricedTransaction.js'

/**
 * Longest data of a message that is answered here. A transfer without data takes 8 µs, one with this much at most 18
 * µs; passing it to the pool takes 30 µs of the edge alone.
 */
const dataBytesMax = 4_096

/** Contracts that are remembered: the most popular ones of a busy hour. */
const knownCodesMax = 1_000

/** The data from which such a message is answered. */
interface PlainTransfer {
  readonly resolved: ResolvedContext
  /** Balance of the sender in wei. */
  readonly balance: bigint
}

export class PlainTransfers {
  readonly #contexts: BlockContexts
  readonly #store: ChainRows
  readonly #states: BlockStates
  /**
   * Address, by {@link mapKey} → hash of the block after which it was last found to have code. To read that takes as
   * long as the rest of passing a call on.
   */
  readonly #withCode = new LRUCache<string, Uint8Array>({ max: knownCodesMax })

  constructor(store: ChainRows, schedule: ForkSchedule) {
    this.#store = store
    this.#states = new BlockStates(store)
    this.#contexts = new BlockContexts(store, schedule)
  }

  /** The gas of a plain transfer; undefined where something may run. Throws what {@link Execution.estimate} does. */
  estimate(request: ExecutionRequest): bigint | undefined {
    const transfer = this.#find(request)
    if (transfer === undefined) return undefined
    return startGas(startEstimate(request, transfer.resolved.context, transfer.balance).priced)
  }

  /** Whether a call is a plain transfer, which returns nothing. Throws what {@link Execution.call} rejects with. */
  call(request: ExecutionRequest): boolean {
    const transfer = this.#find(request)
    if (transfer === undefined) return false
    startCall(request, transfer.resolved.context, transfer.balance)
    return true
  }

  #find(request: ExecutionRequest): PlainTransfer | undefined {
    const { block, message, stateOverrides, blockOverrides } = request
    const { from, to, data, authorizationList } = message
    if (to === undefined || mayBePrecompiled(to) || data.length > dataBytesMax) return undefined
    if (authorizationList !== undefined || stateOverrides !== undefined || blockOverrides !== undefined) {
      return undefined
    }
    const key = mapKey(to)
    const known = this.#withCode.get(key)
    if (known !== undefined && equalBytes(known, block.hash)) return undefined
    const status = statusOf(this.#store, block)
    // For a non-canonical block each account is a walk down the trie.
    if (status === 'side') return undefined
    const resolved = this.#contexts.read(block)
    const state = this.#states.open(status, block, resolved.stateRoot)
    const recipient = state.account(to as Address)
    // From Amsterdam on an account that a transfer creates is paid for (EIP-8037).
    const mayCreate = message.value > 0n && includesFork(resolved.context.fork, 'amsterdam')
    if (mayCreate && recipient === undefined) return undefined
    if (hasCode(recipient)) {
      // Copied, because the hash may be a view of the whole request.
      this.#withCode.set(key, Uint8Array.from(block.hash))
      return undefined
    }
    return { resolved, balance: state.account((from ?? zeroAddress) as Address)?.balance ?? 0n }
  }
}

const zeroAddress = new Uint8Array(20)

/** Precompiled contracts of every fork are among the first 65,536 addresses. */
function mayBePrecompiled(address: Uint8Array): boolean {
  for (let i = 0; i < 18; i++) if (address[i] !== 0) return false
  return true
}
