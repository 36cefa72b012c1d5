/**
 * Headers of a chain from a hash downwards, each by the hash that the one above names. Owns how they are asked for; stores
 * nothing.
 */
import { decodeHeader } from '../../../data/chain/header.js'
import type { GatewayWriter } from '../../../data/store/gatewayWriter.js'
import { bytesToHex, equalBytes, type Hash32, latin1Key } from '../../../primitives/bytes.js'
import type { ProvedBlock } from './blockFetcher.js'
import type { ProofFetcher } from './proofFetcher.js'

/** A header that one above it names. */
export type LinkedHeader = Pick<ProvedBlock, 'hash' | 'header' | 'headerRlp'>

/** Headers that are asked for together: at first few, because most branches are short; doubled up to the most. */
const batchMin = 16
const batchMax = 128
/** Most blocks that a reorganisation replaces, wherever `historyBlocks` ends: their headers take 40 MB. */
export const relinkedMax = 65_536

export class HeaderLinks {
  readonly #store: GatewayWriter
  readonly #fetcher: Pick<ProofFetcher, 'readBlock' | 'readHeaderAt'>
  /** By their hashes, headers of walks to the chain that did not come to an end. */
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

  /** The block with this hash. Rejects where nobody has it, or it has another number. */
  async read(hash: Hash32, number: number): Promise<ProvedBlock> {
    const block = await this.#fetcher.readBlock(hash)
    if (block === undefined) throw new Error(`no upstream has block ${bytesToHex(hash)}`)
    requireNumber(block, number)
    return block
  }

  /**
   * The headers from block `number`, which has this hash, down to block `lowest`, or to the last one above a block that is
   * the end; newest first, and at least one. Nodes are asked for the numbers at once; where they have another branch at
   * one, for its hash. Fewer where one further down cannot be had; rejects as {@link read} where that is the first.
   */
  async down(
    hash: Hash32,
    number: number,
    lowest: number,
    isEnd: (hash: Hash32) => boolean = () => false,
  ): Promise<LinkedHeader[]> {
    const numbers = Array.from({ length: Math.max(number - lowest + 1, 0) }, (_, index) => number - index)
    const told = await Promise.all(
      numbers.map((each) => this.#fetcher.readHeaderAt(each).catch(() => undefined)),
    )
    const linked: LinkedHeader[] = []
    let next = hash
    for (const [index, each] of numbers.entries()) {
      if (isEnd(next)) break
      const given = told[index]
      const isRight = given !== undefined && equalBytes(given.hash, next)
      try {
        linked.push(
          isRight
            ? { hash: given.hash, header: decodeHeader(given.header), headerRlp: given.header }
            : await this.read(next, each),
        )
      } catch (error) {
        if (linked.length === 0) throw error
        break
      }
      next = (linked.at(-1) as LinkedHeader).header.parentHash
    }
    return linked
  }

  /**
   * The headers between block `number`, which has this hash, and the first canonical block below, oldest first; none where
   * it is canonical itself. Undefined where no block from `lowest` on is. What a call that rejects has linked the next one
   * does not ask for again.
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

/** Throws where a block has another number. */
export function requireNumber({ header }: LinkedHeader, number: number): void {
  if (header.number !== number) throw new Error(`block ${header.number} instead of ${number}`)
}
