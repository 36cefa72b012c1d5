/**
 * Headers of a chain from a hash downwards, and whether they lead to the chain. Stores nothing.
 */
import { decodeHeader } from '../../../data/chain/header.js'
import type { GatewayWriter } from '../../../data/store/gatewayWriter.js'
import { bytesToHex, type Hash32, latin1Key } from '../../../primitives/bytes.js'
import { linkedHeaders } from '../nodes/linkedHeaders.js'
import type { ProvedBlock } from './blockFetcher.js'
import type { ProofFetcher } from './proofFetcher.js'

/** A header that a header above it names. */
export type LinkedHeader = Pick<ProvedBlock, 'hash' | 'header' | 'headerRlp'>

/** Headers that are requested together: first few, because most branches are short; doubled up to the maximum. */
const batchMin = 16
const batchMax = 128
/** Maximum blocks that a reorg replaces, whatever `historyBlocks` is: their headers take 40 MB. */
export const relinkedMax = 65_536

export class HeaderLinks {
  readonly #store: GatewayWriter
  readonly #fetcher: Pick<ProofFetcher, 'readBlock' | 'readHeaderAt'>
  /** Headers of unfinished walks to the chain, by their hashes. */
  readonly #walked = new Map<string, LinkedHeader>()

  constructor(store: GatewayWriter, fetcher: Pick<ProofFetcher, 'readBlock' | 'readHeaderAt'>) {
    this.#store = store
    this.#fetcher = fetcher
  }

  /** The number of a canonical block; undefined for any other. */
  canonicalNumber(hash: Hash32): number | undefined {
    const header = this.#store.hasHeader(hash) ? this.#store.readHeader(hash) : undefined
    if (header === undefined) return undefined
    const { number } = decodeHeader(header)
    return this.#store.isCanonical(number, hash) ? number : undefined
  }

  /** The block with this hash. Rejects if no node has it, or it has another number. */
  async read(hash: Hash32, number: number): Promise<ProvedBlock> {
    const block = await this.#fetcher.readBlock(hash)
    if (block === undefined) throw new Error(`no upstream has block ${bytesToHex(hash)}`)
    requireNumber(block, number)
    return block
  }

  /**
   * The headers from block `number`, which has this hash, down to block `lowest`. They end earlier above a block for
   * which `isEnd` is true. Newest first, and at least one. May return fewer, and rejects, as {@link linkedHeaders}.
   */
  down(
    hash: Hash32,
    number: number,
    lowest: number,
    isEnd?: (hash: Hash32) => boolean,
  ): Promise<LinkedHeader[]> {
    return linkedHeaders<LinkedHeader>({ hash, number }, number - lowest + 1, {
      at: async (each) => {
        const reported = await this.#fetcher.readHeaderAt(each)
        return (
          reported && {
            hash: reported.hash,
            header: decodeHeader(reported.header),
            headerRlp: reported.header,
          }
        )
      },
      byHash: (next, each) => this.read(next, each),
      parentOf: ({ header }) => header.parentHash,
      ...(isEnd && { isEnd }),
    })
  }

  /**
   * The headers between block `number`, which has this hash, and the first canonical block below, oldest first; none if
   * it is canonical itself. Undefined if no block from `lowest` on is canonical. After a rejected call, the next one
   * reuses the headers that were already linked.
   */
  async toChain(hash: Hash32, number: number, lowest: number): Promise<LinkedHeader[] | undefined> {
    const isCanonical = (each: Hash32) => this.canonicalNumber(each) !== undefined
    const linked: LinkedHeader[] = []
    let next = hash
    if (this.#walked.size > relinkedMax) this.#walked.clear()
    for (let batch = batchMin; !isCanonical(next); batch *= 2) {
      const top = number - linked.length
      if (top < Math.max(lowest, 0)) return undefined
      const bottom = Math.max(lowest, 0, top - Math.min(batch, batchMax) + 1)
      const known = this.#walked.get(latin1Key(next))
      for (const each of known ? [known] : await this.down(next, top, bottom, isCanonical)) {
        linked.push(each)
        this.#walked.set(latin1Key(each.hash), each)
      }
      next = (linked.at(-1) as LinkedHeader).header.parentHash
    }
    this.#walked.clear()
    return linked.reverse()
  }
}

/** Throws if a block has another number. */
export function requireNumber({ header }: LinkedHeader, number: number): void {
  if (header.number !== number) throw new Error(`block ${header.number} instead of ${number}`)
}
