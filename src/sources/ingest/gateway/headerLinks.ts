/**
 * Headers of a chain from a hash downwards, each by the hash that the one above names. Owns how they are asked for; stores
 * nothing.
 */
import { decodeHeader } from '../../../data/chain/header.js'
import type { GatewayWriter } from '../../../data/store/gatewayWriter.js'
import { bytesToHex, equalBytes, type Hash32 } from '../../../primitives/bytes.js'
import type { ProvedBlock } from './blockFetcher.js'
import type { ProofFetcher } from './proofFetcher.js'

/** A header that one above it names. */
export type LinkedHeader = Pick<ProvedBlock, 'hash' | 'header' | 'headerRlp'>

/** Headers that are asked for together: at first few, because most branches are short; doubled up to the most. */
const batchMin = 16
const batchMax = 128

export class HeaderLinks {
  readonly #store: GatewayWriter
  readonly #fetcher: Pick<ProofFetcher, 'readBlock' | 'readHeaderAt'>

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
   * the end; newest first. Nodes are asked for the numbers at once; where they have another branch at one, for its hash.
   * Rejects as {@link read}.
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
      const header = isRight
        ? { hash: given.hash, header: decodeHeader(given.header), headerRlp: given.header }
        : await this.read(next, each)
      linked.push(header)
      next = header.header.parentHash
    }
    return linked
  }

  /**
   * The headers between block `number`, which has this hash, and the first canonical block below, oldest first; none where
   * it is canonical itself. Undefined where no block from `lowest` on is.
   */
  async toChain(hash: Hash32, number: number, lowest: number): Promise<LinkedHeader[] | undefined> {
    const isCanonical = (each: Hash32) => this.canonicalNumber(each) !== undefined
    const linked: LinkedHeader[] = []
    let next = hash
    for (let batch = batchMin; !isCanonical(next); batch *= 2) {
      const top = number - linked.length
      if (top < Math.max(lowest, 0)) return undefined
      const bottom = Math.max(lowest, 0, top - Math.min(batch, batchMax) + 1)
      for (const each of await this.down(next, top, bottom, isCanonical)) linked.push(each)
      next = (linked.at(-1) as LinkedHeader).header.parentHash
    }
    return linked.reverse()
  }
}

/** Throws where a block has another number. */
export function requireNumber({ header }: LinkedHeader, number: number): void {
  if (header.number !== number) throw new Error(`block ${header.number} instead of ${number}`)
}
