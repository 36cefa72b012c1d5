/**
 * A network that crosses to Amsterdam while its head moves: the first blocks of a1-cross, and competing ones that are
 * made of them. Those have another miner, so that their states differ as well, and the same times, so that the fork
 * stays where it is.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { blockAccessListHash } from '../../src/data/chain/blockAccessList.js'
import { nextBaseFee } from '../../src/data/chain/feeMarket.js'
import type { ForkSchedule } from '../../src/data/chain/forks.js'
import { encodeHeader, type Header } from '../../src/data/chain/header.js'
import { indexedRoot } from '../../src/data/state/indexedRoot.js'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { BlockExecutor, type ExecutedBlock } from '../../src/execution/evm/blocks/executeBlock.js'
import { InvalidBlockError } from '../../src/execution/evm/blocks/invalidBlock.js'
import { RecoveredKeys } from '../../src/execution/evm/transactions/recoveredKeys.js'
import { decodeRlpList, encodeRlp, type RlpItem, rlpList } from '../../src/primitives/rlp.js'
import { parseBlock } from '../../src/sources/ingest/block.js'
import { readChainFile } from '../../src/sources/ingest/chainFile.js'
import { parseGenesis } from '../../src/sources/ingest/genesis.js'
import { ChainImporter } from '../../src/sources/ingest/importer.js'
import type { Place, Subjects } from '../feed/replicaAnswers.js'
import { makeFolder } from '../service/program.js'
import type { Service } from '../service/service.js'
import { amsterdamFile } from './amsterdam.js'
import { type PlayedBlock, type PlayOptions, type ReplayedChain, writeReplay } from './replayedChain.js'

/** The first block of a1-cross under Amsterdam. */
export const forkBlock = 40

/** Makes the chain and everything that the program needs to play it, in a folder of its own. */
export async function makeAmsterdamReplay(
  t: Test,
  options: PlayOptions,
): Promise<ReplayedChain<PlayedBlock>> {
  const { length, reorganisations = [] } = options
  const folder = makeFolder(t)
  const genesisText = readFileSync(amsterdamFile('a1-cross', 'genesis.json'), 'utf8')
  const { identity, blockDiff, schedule } = parseGenesis(genesisText)
  const ends = reorganisations.map(({ after, back, blocks }) => after - back + blocks)
  const originals = await readOriginals(Math.max(length, ...ends))
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

/** What to ask about a block of it: places that the block touches, also by its access list, and a call that writes. */
export async function subjectsAt(node: Service, block: AskedBlock): Promise<Subjects> {
  const lists = block.blockAccessListHash === undefined ? [] : await changedIn(node, block.hash)
  const touched = block.transactions.slice(0, 2).flatMap(({ from, to }) => [from, to ?? []].flat())
  const places = [
    ...[block.miner, slotWriter, ...touched].map((address) => ({ address, slot: '0x0' })),
    ...lists,
  ]
  return {
    places,
    // Three slots are written, so that there is state to pay for.
    call: { from: block.miner, to: slotWriter, data: `0x${'3'.padStart(64, '0')}` },
  }
}

/** What {@link subjectsAt} needs of a block as JSON. */
export interface AskedBlock {
  readonly hash: string
  readonly miner: string
  readonly blockAccessListHash?: string
  readonly transactions: readonly { readonly from: string; readonly to: string | null }[]
}

/** A contract of the genesis that writes as many slots as its input says. */
const slotWriter = '0xb0b0000000000000000000000000000000000002'

/** Some accounts with a slot that a block writes; none for one that is not canonical, whose list is not told. */
async function changedIn(node: Service, hash: string): Promise<Place[]> {
  const { result } = await node.call('eth_getBlockAccessList', [hash])
  const accounts: readonly ListedAccount[] = result ?? []
  const written = accounts.filter(({ storageChanges }) => storageChanges.length > 0)
  return written
    .slice(-3)
    .map(({ address, storageChanges }) => ({ address, slot: storageChanges[0]?.key ?? '0x0' }))
}

interface ListedAccount {
  readonly address: string
  readonly storageChanges: readonly { readonly key: string }[]
}

async function readOriginals(count: number): Promise<PlayedBlock[]> {
  const blocks: PlayedBlock[] = []
  for await (const { rlp } of readChainFile(amsterdamFile('a1-cross', 'chain.rlp.gz'))) {
    if (blocks.length === count) break
    const { hash, header } = parseBlock(rlp)
    blocks.push({ rlp: Uint8Array.from(rlp), hash, number: header.number })
  }
  return blocks
}

/** Thrown in place of a comparison with the header, which is not there yet. */
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
  readonly #importer: ChainImporter
  readonly #drafts: ChainImporter

  constructor(store: ChainWriter, schedule: ForkSchedule) {
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
    for (const { rlp } of blocks) await this.#importer.importBlock(parseBlock(rlp))
  }

  /** One after the other on `parent`, with the transactions of the originals. */
  async compete(
    parent: PlayedBlock,
    originals: readonly PlayedBlock[],
    branch: number,
  ): Promise<PlayedBlock[]> {
    const made: PlayedBlock[] = []
    // A branch made before may stand in its place.
    if (parent.number > 0) await this.#importer.importAsHead(parseBlock(parent.rlp))
    for (const original of originals) {
      made.push(await this.#makeOne(made.at(-1) ?? parent, original, branch))
    }
    return made
  }

  async #makeOne(parent: PlayedBlock, original: PlayedBlock, branch: number): Promise<PlayedBlock> {
    const { header, items } = parseBlock(original.rlp)
    const above = parseBlock(parent.rlp)
    const draft: Header = {
      ...header,
      parentHash: above.hash,
      miner: new Uint8Array(20).fill(0xb0 + branch),
      extraData: Buffer.from(`branch ${branch}`),
      baseFeePerGas: nextBaseFee(above.header),
    }
    const transactions = [...rlpList(items[1])]
    const encode = (header: Header) => {
      const transactionsRoot = indexedRoot(transactions.map(consensusForm))
      const headerItems = decodeRlpList(encodeHeader({ ...header, transactionsRoot }))
      return encodeRlp([headerItems, transactions, ...items.slice(2)])
    }
    const executed = await this.#execute(transactions, () => encode(draft))
    const { changes, gasUsed, logsBloom, receiptsRoot, requestsHash, blockAccessList } = executed
    const rlp = encode({
      ...draft,
      stateRoot: changes.stateRoot,
      gasUsed,
      logsBloom,
      receiptsRoot,
      ...(requestsHash && { requestsHash }),
      ...(blockAccessList && { blockAccessListHash: blockAccessListHash(blockAccessList) }),
    })
    const { number, hash } = await this.#importer.importAsHead(parseBlock(rlp))
    return { rlp, hash, number }
  }

  /** Leaves out transactions that are invalid on another parent, such as those that pay too little for its gas. */
  async #execute(transactions: RlpItem[], encode: () => Uint8Array): Promise<ExecutedBlock> {
    for (;;) {
      try {
        await this.#drafts.importAsHead(parseBlock(encode()))
      } catch (error) {
        if (error instanceof Executed) return error.block
        // A block with other blobs would change the headers of those after it.
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

/** A transaction of a body as the root of transactions has it (EIP-2718). */
const consensusForm = (item: RlpItem) => (item instanceof Uint8Array ? item : encodeRlp(item))
