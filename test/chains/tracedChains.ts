/** The demo chain and the recorded one, with the data to compare their traces with. */
import { existsSync } from 'node:fs'
import { ChainReader } from '../../src/data/store/chainReader.js'
import { BlockReplays, type ReplayedBlock } from '../../src/execution/evm/blocks/blockReplay.js'
import type { TracerOptions } from '../../src/execution/evm/tracers/tracerOptions.js'
import { Tracing } from '../../src/execution/evm/tracers/tracing.js'
import type { Hash32 } from '../../src/primitives/bytes.js'
import { decodeRlpList, type RlpItem } from '../../src/primitives/rlp.js'
import { fixtureDir } from '../service/fixtures.js'
import { storePathOf } from '../service/program.js'

const limits = { timeMsMax: 600_000, memoryBytesMax: 2 ** 28, answerBytesMax: 2 ** 30 }

/** One chain, read from its store. */
export class TracedChain {
  readonly store: ChainReader
  readonly replays: BlockReplays
  readonly #tracing: Tracing

  constructor(path: string) {
    this.store = ChainReader.open({ path })
    this.replays = new BlockReplays(this.store)
    this.#tracing = new Tracing(this.store, limits)
  }

  /** Every block that has transactions. */
  *blocks(): Generator<ReplayedBlock> {
    const head = this.store.readHead()?.number ?? 0
    for (let number = 1; number <= head; number++) {
      const block = this.replays.read(this.store.readCanonicalHash(number)?.slice() as Uint8Array)
      if (block.transactions.length > 0) yield block
    }
  }

  /** The decoded RLP of a block. */
  itemsOf(hash: Uint8Array): RlpItem[] {
    const header = this.store.readHeader(hash as Hash32)
    const body = this.store.readBody(hash as Hash32)
    if (header === undefined || body === undefined) throw new Error('the block is not in the store')
    return [decodeRlpList(header), ...decodeRlpList(body)]
  }

  /** The results of a block's transactions. */
  // biome-ignore lint/suspicious/noExplicitAny: traces have every shape.
  trace(hash: Uint8Array, tracer: TracerOptions): any[] {
    const parts: Uint8Array[] = []
    const subject = { kind: 'block', blockHash: hash } as const
    const last = this.#tracing.trace(
      { subject, tracer },
      () => false,
      (part) => parts.push(part),
    )
    const traces: { result: unknown }[] = JSON.parse(Buffer.concat([...parts, last]).toString())
    return traces.map(({ result }) => result)
  }
}

/** The chains that are available. */
export const tracedChains: readonly (readonly [name: string, chain: TracedChain])[] = ['demo', 'recorded']
  .filter((name) => existsSync(storePathOf(fixtureDir, name)))
  .map((name) => [name, new TracedChain(storePathOf(fixtureDir, name))])
