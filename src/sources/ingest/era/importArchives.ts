/**
 * Imports archives of history into a store of blocks and receipts. Checks each block's parts against its header, the
 * blocks of an epoch against its accumulator, and each archive against the one before. An epoch counts once all of it
 * is verified: the head moves from epoch to epoch. An interrupted import repeats its last, incomplete epoch.
 */
import { ForkSchedule } from '../../../data/chain/forks.js'
import { EpochTree } from '../../../data/ssz/epochTree.js'
import { epochBlocks } from '../../../data/ssz/verifyHeaderProof.js'
import { type ChainIdentity, type Epoch, requireIdentity } from '../../../data/store/chainRows.js'
import { HistoryWriter } from '../../../data/store/historyWriter.js'
import { bytesToHex, equalBytes, toMinimalBytes } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import type { ArchiveTask } from '../thread/messages.js'
import type { Report, SourceHost } from '../thread/runSource.js'
import { ArchiveTally } from './archiveTally.js'
import { BlockChecks, type CheckedBlock, type PreviousBlock } from './blockChecks.js'
import type { EraFile } from './eraFile.js'

/**
 * Bytes of blocks that share a transaction, so that memory does not grow with an epoch. A full epoch of the main
 * network has up to 1 GB.
 */
export const commitBytes = 32 * 2 ** 20

/**
 * Imports archives into a store, in order, and reports progress. Once the signal is aborted, ends early at the end of
 * the last complete epoch. Rejects with OperatorError for a cause that the operator can remove. All epochs before the
 * fault are kept.
 */
export async function importArchives(task: ArchiveTask, host: SourceHost): Promise<void> {
  const { report } = host
  const store = HistoryWriter.open({ path: task.storePath, mapBytes: task.mapBytes })
  try {
    const tally = new ArchiveTally(task.bytesTotal, host)
    const session = new ArchiveImport(store, task, tally, report)
    let isWhole = false
    try {
      isWhole = await tally.take(task.archives, (archive) => session.take(archive))
    } finally {
      if (!isWhole) await store.drop()
    }
    report({ type: 'finished', progress: tally.progress(), stopped: !isWhole })
  } finally {
    await store.close()
  }
}

class ArchiveImport {
  readonly #store: HistoryWriter
  readonly #task: ArchiveTask
  readonly #tally: ArchiveTally
  readonly #report: Report
  readonly #schedule: ForkSchedule
  readonly #trusted: ReadonlySet<string> | undefined
  #isOpened = false

  constructor(store: HistoryWriter, task: ArchiveTask, tally: ArchiveTally, report: Report) {
    this.#store = store
    this.#task = task
    this.#tally = tally
    this.#report = report
    this.#schedule = ForkSchedule.of(task.identity)
    this.#trusted = task.accumulators && new Set(task.accumulators)
  }

  /** Imports an archive; false if it was stopped within it. */
  async take(archive: EraFile): Promise<boolean> {
    const { first, count, file } = archive
    if (first % epochBlocks !== 0) {
      throw new OperatorError(
        `${file.path}: it begins with block ${first}, and no epoch does; epochs begin with multiples of ${epochBlocks}`,
      )
    }
    const known = this.#store.readEpoch(first / epochBlocks)
    if (known !== undefined && known.count >= count) this.#passOver(archive, known)
    else return this.#takeEpoch(archive, this.#begin(archive))
    return true
  }

  /** Skips a stored epoch, which is recognised by its accumulator. */
  #passOver({ accumulator, file, first, count }: EraFile, known: Epoch): void {
    const same =
      accumulator === undefined || known.accumulator === undefined
        ? accumulator === known.accumulator
        : equalBytes(accumulator, known.accumulator)
    if (!same || known.count !== count) {
      throw new OperatorError(
        `${file.path}: the store has another epoch of blocks ${first} to ${first + count - 1}; one of the two is of another chain`,
      )
    }
    this.#tally.known += count
    this.#tally.number = first + count - 1
  }

  /** Prepares the store for an archive; returns the block that it must follow. */
  #begin(archive: EraFile): PreviousBlock | undefined {
    const { first, hasReceipts, file } = archive
    const identity: ChainIdentity = { ...this.#task.identity, history: { first, hasReceipts } }
    const head = this.#store.begin(identity)
    if (!this.#isOpened && head !== undefined) this.#open()
    const { history } = requireIdentity(this.#store)
    if (history?.hasReceipts !== hasReceipts) {
      const [mine, its] = hasReceipts ? ['has', 'has none'] : ['has no', 'has them']
      throw new OperatorError(
        `${file.path}: it ${mine} receipts, the store ${its}; import it into another network`,
      )
    }
    if (head === undefined) return undefined
    if (first !== head.number + 1) {
      throw new OperatorError(
        first > head.number
          ? `${file.path}: it begins with block ${first}, and blocks ${head.number + 1} to ${first - 1} are missing; import them first`
          : `${file.path}: it begins with block ${first}, before the store's first, ${history?.first}, or amid its last epoch; import it into an empty folder`,
      )
    }
    return head
  }

  async #takeEpoch(archive: EraFile, before: PreviousBlock | undefined): Promise<boolean> {
    const checks = new BlockChecks(archive, this.#schedule)
    const { first, count, file } = archive
    const records: PreviousBlock[] = []
    let previous = before
    let waitingBytes = 0
    for (const block of archive.blocks()) {
      const number = first + records.length
      const checked: CheckedBlock = checks.check(block, number, previous)
      if (number === 0) this.#checkGenesis(archive, checked)
      waitingBytes += this.#store.add({
        number,
        hash: checked.hash,
        header: block.header,
        body: block.body,
        senders: checked.senders,
        receipts: block.receipts,
        totalDifficulty: toMinimalBytes(checked.totalDifficulty),
      })
      if (waitingBytes >= commitBytes) {
        await this.#store.commitBatch()
        waitingBytes = 0
      }
      this.#tally.gas += checked.header.gasUsed
      previous = { number, hash: checked.hash, totalDifficulty: checked.totalDifficulty }
      records.push(previous)
      this.#tally.number = number
      if (await this.#tally.turn((file.bytes * records.length) / count)) return false
    }
    await this.#seal(archive, records, before)
    return true
  }

  #checkGenesis({ file }: EraFile, { hash }: CheckedBlock): void {
    const { genesisHash } = this.#task.identity
    if (bytesToHex(hash) === genesisHash) return
    throw new OperatorError(
      `${file.path}: its block 0 is ${bytesToHex(hash)}, this network's genesis is ${genesisHash}`,
    )
  }

  /** Compares an epoch with its accumulator and makes its last block the head. */
  async #seal(
    archive: EraFile,
    records: readonly PreviousBlock[],
    before: PreviousBlock | undefined,
  ): Promise<void> {
    const { first, count, accumulator, file } = archive
    const last = records.at(-1) as PreviousBlock
    const root = accumulator && new EpochTree(records).root
    const fault = (why: string) => file.fault('accumulator', archive.accumulatorOffset, why)
    if (accumulator !== undefined && root !== undefined && !equalBytes(root, accumulator)) {
      throw fault(`is ${bytesToHex(accumulator)}, the blocks give ${bytesToHex(root)}`)
    }
    const isTrusted = root !== undefined && this.#trusted?.has(bytesToHex(root)) === true
    if (this.#trusted !== undefined && root !== undefined && !isTrusted) {
      throw fault(`is ${bytesToHex(root)}, which is not in the list of trusted ones`)
    }
    const epoch: Epoch = { count, accumulator: root, isTrusted }
    await this.#store.seal(first / epochBlocks, epoch, last)
    this.#tally.stored += count
    if (!this.#isOpened) this.#open()
    const link = first === 0 ? 'genesis' : before === undefined ? 'none' : 'previous'
    this.#report({ type: 'epoch', first, last: last.number, accumulator: root, isTrusted, link })
  }

  #open(): void {
    this.#isOpened = true
    this.#report({ type: 'opened' })
  }
}
