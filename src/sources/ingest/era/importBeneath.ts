/**
 * Imports archives of history into a gateway's store: old blocks, below those that it linked to its head. They are
 * taken from the newest down, each only if it is the parent that the block above names. So the head proves every stored
 * block at every moment. Accumulators and total difficulties of archives are not needed for that, and are ignored: once
 * genesis is included, total difficulties are computed as sums.
 */
import { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, headerHash, isProofOfStake } from '../../../data/chain/header.js'
import { GatewayWriter } from '../../../data/store/gatewayWriter.js'
import type { StoredBlock } from '../../../data/store/storedBlock.js'
import { BlockParts } from '../../../execution/evm/blocks/blockParts.js'
import { bytesToHex, equalBytes, type Hash32 } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { addTotals } from '../gateway/totals.js'
import type { ArchiveTask } from '../thread/messages.js'
import type { SourceHost } from '../thread/runSource.js'
import { ArchiveTally } from './archiveTally.js'
import { checkParts } from './blockChecks.js'
import type { EraFile } from './eraFile.js'
import { commitBytes } from './importArchives.js'

/**
 * Imports archives into a gateway's store, those with the newest blocks first, and reports progress. Ends early once
 * the signal is aborted. Rejects with OperatorError for an archive that does not link to the gateway's blocks, or is
 * damaged. All blocks above the fault are kept.
 */
export async function importBeneath(task: ArchiveTask, host: SourceHost): Promise<void> {
  const { report } = host
  const store = GatewayWriter.open({ path: task.storePath, mapBytes: task.mapBytes })
  try {
    const tally = new ArchiveTally(task.bytesTotal, host)
    const session = new BeneathImport(store, task.identity.config, tally)
    const isWhole = await tally.take([...task.archives].reverse(), async (archive) => {
      const isTaken = await session.take(archive).finally(() => store.commitBatch())
      const { first, count } = archive
      const epoch = { first, last: first + count - 1, accumulator: undefined, isTrusted: false }
      if (isTaken) report({ type: 'epoch', ...epoch, link: 'head' })
      return isTaken
    })
    if (store.readLinkedFrom() === 0) addTotals(store)
    report({ type: 'finished', progress: tally.progress(), stopped: !isWhole })
  } finally {
    await store.close()
  }
}

class BeneathImport {
  readonly #store: GatewayWriter
  readonly #parts: BlockParts
  readonly #tally: ArchiveTally

  constructor(store: GatewayWriter, config: string, tally: ArchiveTally) {
    this.#store = store
    this.#parts = new BlockParts(ForkSchedule.of({ config }))
    this.#tally = tally
  }

  /** Imports an archive; false if it was stopped within it. */
  async take(archive: EraFile): Promise<boolean> {
    const { first, count, file } = archive
    const last = first + count - 1
    let expected = this.#hashAt(last, archive)
    let waitingBytes = 0
    for (let number = last; number >= first; number--) {
      const stored = this.#storedWhole(number, expected, archive.hasReceipts)
      if (stored === undefined) waitingBytes += this.#takeBlock(archive, number, expected)
      else this.#tally.known++
      const { header } = stored ?? (this.#store.readCanonicalRow(number) as StoredBlock)
      expected = decodeHeader(header).parentHash
      if (waitingBytes >= commitBytes) {
        await this.#store.commitBatch()
        waitingBytes = 0
      }
      this.#tally.number = number
      if (await this.#tally.turn((file.bytes * (last - number + 1)) / count)) return false
    }
    return true
  }

  /** The hash of block `last` on the gateway's chain. */
  #hashAt(last: number, { file }: EraFile): Hash32 {
    const head = this.#store.readHead()
    const from = this.#store.readLinkedFrom()
    if (head === undefined || from === undefined) {
      throw new OperatorError(
        'the gateway has no head yet to which blocks could link; start it with its upstreams first',
      )
    }
    if (last > head.number) {
      throw new OperatorError(
        `${file.path}: it ends with block ${last}, above the gateway's head ${head.number}; start the gateway until its head is there, and import again`,
      )
    }
    if (last < from - 1) {
      throw new OperatorError(
        `${file.path}: it ends with block ${last}, and the gateway's chain of headers begins with block ${from}; import the archives between them first, or start the gateway with "historyBlocks" of ${head.number - last - 1} or more`,
      )
    }
    const row = (number: number) => this.#store.readCanonicalRow(number) as StoredBlock
    return last >= from
      ? (Uint8Array.from(row(last).hash) as Hash32)
      : decodeHeader(row(from).header).parentHash
  }

  /** A linked block, if the store has everything of it that the archive has. */
  #storedWhole(number: number, hash: Hash32, withReceipts: boolean): StoredBlock | undefined {
    if (number < (this.#store.readLinkedFrom() as number)) return undefined
    const row = this.#store.readCanonicalRow(number)
    if (row === undefined || !row.is(hash)) throw new Error(`block ${number} is not linked to the head`)
    const isWhole = row.hasBody && (!withReceipts || this.#store.readReceipts(hash) !== undefined)
    return isWhole ? row : undefined
  }

  /** Checks and stores a block, and returns its size in bytes. */
  #takeBlock(archive: EraFile, number: number, expected: Hash32): number {
    const block = archive.blockAt(number)
    const { header: rlp, body, receipts } = block
    const hash = headerHash(rlp)
    if (!equalBytes(hash, expected)) {
      throw new OperatorError(
        `${archive.file.path}: its block ${number} is ${bytesToHex(hash)}, and on the gateway's chain it is ${bytesToHex(expected)}; the archive is of another chain or branch`,
      )
    }
    const header = decodeHeader(rlp)
    const senders = checkParts(this.#parts, archive, block, header, isProofOfStake(header))
    this.#store.beginBatch()
    if (number < (this.#store.readLinkedFrom() as number)) {
      this.#store.extendDown([{ number, hash, header: rlp, totalDifficulty: undefined }])
    }
    this.#store.putContent(hash, { body, senders })
    if (receipts !== undefined) this.#store.putReceipts(hash, { row: receipts })
    this.#tally.stored++
    this.#tally.gas += header.gasUsed
    return rlp.length + body.length + senders.length + (receipts?.length ?? 0)
  }
}
