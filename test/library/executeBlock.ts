/** Execution of whole blocks by @ethereumjs, the reference for the kernel: the same input, the same result. */
import { type Block, createBlockFromBytesArray } from '@ethereumjs/block'
import { EthereumJSErrorWithoutCode } from '@ethereumjs/util'
import { encodeReceipt, type RunBlockResult, runBlock, type VM } from '@ethereumjs/vm'
import type { ForkName, ForkSchedule } from '../../src/data/chain/forks.js'
import type { StateView } from '../../src/data/state/stateView.js'
import type { ExecutedBlock } from '../../src/execution/evm/blocks/executeBlock.js'
import { toHash32 } from '../../src/primitives/bytes.js'
import { InvalidBlockError } from '../../src/primitives/faults.js'
import type { RlpItem } from '../../src/primitives/rlp.js'
import { type AncestorHash, createForkEngine, type ForkEngine } from './forkEngine.js'
import { JournaledState } from './journaledState.js'

type BlockItems = Parameters<typeof createBlockFromBytesArray>[0]

export class LibraryExecutor {
  readonly #engines = new Map<ForkName, ForkEngine>()
  readonly #schedule: ForkSchedule

  constructor(schedule: ForkSchedule) {
    this.#schedule = schedule
  }

  /**
   * Runs a block's system calls, transactions, rewards and withdrawals on `state`, the state after its parent. `items`
   * is the decoded RLP of the block (header, transactions, uncles, withdrawals). Throws {@link InvalidBlockError} if a
   * transaction is invalid; errors of the store pass through. `listen` may add listeners to the engine, and returns a
   * function that removes them.
   */
  async execute(
    items: readonly RlpItem[],
    fork: ForkName,
    state: StateView,
    ancestorHash: AncestorHash,
    listen?: (vm: VM) => () => void,
  ): Promise<ExecutedBlock> {
    const engine = await this.#engineFor(fork)
    const unlisten = listen?.(engine.vm)
    try {
      return await this.#executeOn(engine, items, state, ancestorHash)
    } finally {
      unlisten?.()
    }
  }

  async #executeOn(
    engine: ForkEngine,
    items: readonly RlpItem[],
    state: StateView,
    ancestorHash: AncestorHash,
  ): Promise<ExecutedBlock> {
    const block = parseBlock(items, engine)
    const senders = readSenders(block)
    const run = async (generate: boolean): Promise<[RunBlockResult, JournaledState]> => {
      const journaled = new JournaledState(state)
      engine.prepare(journaled, ancestorHash)
      return [await runBlock(engine.vm, { block, generate, skipBlockValidation: true }), journaled]
    }
    // A run that generates makes a second block with a second transaction trie. A run without generation stops at its
    // first difference, so only bad blocks run again, to find all differences.
    const [result, journaled] = await run(false)
      .catch(() => run(true))
      .catch(asInvalid)
    return {
      changes: journaled.buildChanges(),
      gasUsed: result.gasUsed,
      logsBloom: result.logsBloom,
      receipts: result.receipts.map((receipt, index) =>
        encodeReceipt(receipt, block.transactions[index]?.type ?? 0),
      ),
      receiptsRoot: toHash32(result.receiptsRoot),
      requests: result.requests?.map(({ bytes }) => bytes),
      requestsHash: result.requestsHash && toHash32(result.requestsHash),
      blockAccessList: undefined,
      senders,
    }
  }

  async #engineFor(fork: ForkName): Promise<ForkEngine> {
    let engine = this.#engines.get(fork)
    if (engine === undefined) {
      engine = await createForkEngine(this.#schedule, fork)
      this.#engines.set(fork, engine)
    }
    return engine
  }
}

function parseBlock(items: readonly RlpItem[], { common }: ForkEngine): Block {
  let errors: string[]
  let block: Block
  try {
    // Only a frozen transaction caches its sender; other transactions recover it for each of three reads.
    block = createBlockFromBytesArray(items as unknown as BlockItems, { common, freeze: true })
    errors = block.getTransactionsValidationErrors()
  } catch (error) {
    throw new InvalidBlockError(messageOf(error))
  }
  if (errors.length > 0) throw new InvalidBlockError(errors.join('; '))
  return block
}

function readSenders({ transactions }: Block): Uint8Array {
  const senders = new Uint8Array(transactions.length * 52)
  for (const [index, transaction] of transactions.entries()) {
    try {
      senders.set(transaction.getSenderAddress().bytes, index * 52)
    } catch (error) {
      throw new InvalidBlockError(`transaction ${index} has an invalid signature: ${messageOf(error)}`)
    }
    senders.set(transaction.hash(), index * 52 + 20)
  }
  return senders
}

const evmErrorClass = EthereumJSErrorWithoutCode('').constructor as new () => Error

function asInvalid(error: unknown): never {
  if (error instanceof evmErrorClass) throw new InvalidBlockError(messageOf(error))
  throw error
}

/** The library's messages end with descriptions of its objects in parentheses, useless to an operator. */
function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.replace(/ \(vm hf=.*$/s, '').replace(/ \((tx type|block number)=.*$/s, '')
}
