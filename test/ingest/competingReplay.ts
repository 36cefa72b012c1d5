/**
 * Competing chains: existing blocks, and others made from them. The others have another miner, so that their states
 * differ, too, and the same times, so that forks stay in place.
 */
import { join } from 'node:path'
import type { Test } from 'tap'
import { blockAccessListHash } from '../../src/data/chain/blockAccessList.js'
import type { ForkSchedule } from '../../src/data/chain/forks.js'
import { encodeHeader, type Header } from '../../src/data/chain/header.js'
import { indexedRoot } from '../../src/data/state/trie.js'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { BlockRunner } from '../../src/execution/evm/blocks/blockRun.js'
import { BlockExecutor, type ExecutedBlock } from '../../src/execution/evm/blocks/executeBlock.js'
import { RecoveredKeys } from '../../src/execution/evm/transactions/recoveredKeys.js'
import { InvalidBlockError } from '../../src/primitives/faults.js'
import { decodeRlpList, encodeRlp, type RlpItem, rlpList } from '../../src/primitives/rlp.js'
import { parseBlock } from '../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../src/sources/ingest/blocks/importer.js'
import { makeFolder } from '../library/folder.js'
import { type PlayedBlock, type PlayOptions, type ReplayedChain, writeReplay } from './replayedChain.js'

/** Number of the last block that a replay needs of a chain. */
export function lastOf({ length, reorganisations = [] }: PlayOptions): number {
  return Math.max(length, ...reorganisations.map(({ after, back, blocks }) => after - back + blocks))
}

/**
 * Makes a replay of `originals`, the blocks of a chain from 1 to {@link lastOf}. Writes all files for the program to
 * play it, in a folder of its own.
 */
export async function makeCompetingReplay(
  t: Test,
  genesisText: string,
  originals: readonly PlayedBlock[],
  options: PlayOptions,
): Promise<ReplayedChain<PlayedBlock>> {
  const { length, reorganisations = [] } = options
  const folder = makeFolder(t)
  const { identity, blockDiff, schedule } = parseGenesis(genesisText)
  const blocks = originals.slice(0, length)
  const store = ChainWriter.openForWriting({ path: join(folder, 'made.mdb'), mapBytes: 2 ** 30 })
  try {
    store.initialize(identity, blockDiff)
    const maker = new Competitors(store, schedule)
    const branches: PlayedBlock[][] = []
    const rlp = encodeRlp([decodeRlpList(blockDiff.header), ...decodeRlpList(blockDiff.body)])
    const genesis = { rlp, hash: blockDiff.hash, number: 0 }
    if (reorganisations.length > 0) await maker.importAll(blocks)
    for (const [index, { after, back, blocks: count }] of reorganisations.entries()) {
      const base = after - back
      const parent = [genesis, ...blocks][base] as PlayedBlock
      branches.push(await maker.compete(parent, originals.slice(base, base + count), index + 1))
    }
    return writeReplay(folder, { genesisText, genesis, blocks, branches }, options)
  } finally {
    await store.close()
  }
}

/** Thrown instead of a comparison with the header, which does not exist yet. */
class Executed extends Error {
  constructor(readonly block: ExecutedBlock) {
    super('executed')
  }
}

/** A transaction that is invalid in this block. */
class UnfitError extends Error {
  constructor(readonly transaction: number) {
    super(`transaction ${transaction} does not fit`)
  }
}

function orUnfit<T>(execute: () => T): T {
  try {
    return execute()
  } catch (error) {
    const index = error instanceof InvalidBlockError ? error.transaction : undefined
    throw index === undefined ? error : new UnfitError(index)
  }
}

/** Makes blocks that compete with those of a store, by executing each twice: to fill its header, and to import it. */
class Competitors {
  readonly #store: ChainWriter
  readonly #importer: ChainImporter
  readonly #drafts: ChainImporter
  readonly #schedule: ForkSchedule
  readonly #runner: BlockRunner

  constructor(store: ChainWriter, schedule: ForkSchedule) {
    this.#store = store
    this.#schedule = schedule
    this.#runner = new BlockRunner(schedule, new RecoveredKeys())
    const executor = new BlockExecutor(schedule, new RecoveredKeys())
    this.#importer = new ChainImporter(store, schedule, { executor })
    this.#drafts = new ChainImporter(store, schedule, {
      executor: {
        recoverSenders: (...input) => executor.recoverSenders(...input),
        execute: (...input) => {
          throw new Executed(orUnfit(() => executor.execute(...input)))
        },
      },
    })
  }

  async importAll(blocks: readonly PlayedBlock[]): Promise<void> {
    this.#store.beginBatch()
    for (const { rlp } of blocks) await this.#importer.importBlock(parseBlock(rlp))
    await this.#store.commitBatch()
  }

  /** Competing blocks in sequence on `parent`, with the transactions of the originals. */
  async compete(
    parent: PlayedBlock,
    originals: readonly PlayedBlock[],
    branch: number,
  ): Promise<PlayedBlock[]> {
    const made: PlayedBlock[] = []
    // An earlier branch may have replaced it.
    if (parent.number > 0) await this.#importer.importAsHead(parseBlock(parent.rlp))
    for (const original of originals) {
      made.push(await this.#makeOne(made.at(-1) ?? parent, original, branch))
    }
    return made
  }

  async #makeOne(parent: PlayedBlock, original: PlayedBlock, branch: number): Promise<PlayedBlock> {
    const { family, config } = this.#schedule
    const { header, items } = parseBlock(original.rlp)
    const above = parseBlock(parent.rlp)
    const draft: Header = {
      ...header,
      parentHash: above.hash,
      miner: new Uint8Array(20).fill(0xb0 + branch),
      baseFeePerGas: family.headers.nextBaseFee(above.header, { timestamp: header.timestamp, config }),
    }
    const transactions = [...rlpList(items[1])]
    const encode = (header: Header) => {
      const transactionsRoot = indexedRoot(transactions.map(consensusForm))
      const fields = { ...header, transactionsRoot, ...this.#blobGas(header, transactions) }
      return encodeRlp([decodeRlpList(encodeHeader(fields)), transactions, ...items.slice(2)])
    }
    const executed = await this.#execute(transactions, () => encode(draft))
    const { changes, gasUsed, logsBloom, receiptsRoot, requestsHash, withdrawalsRoot, blockAccessList } =
      executed
    const rlp = encode({
      ...draft,
      stateRoot: changes.stateRoot,
      gasUsed,
      logsBloom,
      receiptsRoot,
      ...(requestsHash && { requestsHash }),
      ...(withdrawalsRoot && { withdrawalsRoot }),
      ...(blockAccessList && { blockAccessListHash: blockAccessListHash(blockAccessList) }),
    })
    const { number, hash } = await this.#importer.importAsHead(parseBlock(rlp))
    return { rlp, hash, number }
  }

  /** Blob gas by the family's rule. */
  #blobGas(header: Header, transactions: readonly RlpItem[]): Pick<Header, 'blobGasUsed'> {
    const fork = this.#schedule.forkOf(header)
    const blobGas = this.#schedule.family.execution?.blobGas
    if (header.blobGasUsed === undefined || blobGas === undefined) return {}
    const read = transactions.map((item, index) => this.#runner.readTransaction(item, index, fork))
    return { blobGasUsed: blobGas(read, fork) }
  }

  /** Omits transactions that are invalid on another parent, such as those with too low a gas price. */
  async #execute(transactions: RlpItem[], encode: () => Uint8Array): Promise<ExecutedBlock> {
    for (;;) {
      try {
        await this.#drafts.importAsHead(parseBlock(encode()))
      } catch (error) {
        if (error instanceof Executed) return error.block
        // A block with fewer blobs would change the headers of later blocks.
        if (!(error instanceof UnfitError) || typeOf(transactions[error.transaction]) === blobType)
          throw error
        transactions.splice(error.transaction, 1)
        continue
      }
      throw new Error('a draft was not executed')
    }
  }
}

/** EIP-4844. */
const blobType = 3

const typeOf = (item: RlpItem | undefined) => (item instanceof Uint8Array ? item[0] : undefined)

/** A transaction of a body in the encoding for the transactions root (EIP-2718). */
const consensusForm = (item: RlpItem) => (item instanceof Uint8Array ? item : encodeRlp(item))
