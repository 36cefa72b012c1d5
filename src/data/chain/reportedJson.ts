/**
 * Blocks of other families as JSON: the upstream's text, which has members that no row has. Its parts that roots cover
 * were verified when it was stored (ingest/gateway/familyBlock.ts).
 */
import { bytesToHex, type Hash32 } from '../../primitives/bytes.js'
import type { ChainRows, ReportedPart } from '../store/chainRows.js'

type Json = Readonly<Record<string, unknown>>

/** Members of a block that its header lacks. */
const blockMembers: ReadonlySet<string> = new Set([
  ...['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty', 'blockExtraData'],
])

export class ReportedJson {
  readonly #store: ChainRows
  /** The last parsed value: clients often request transactions of one block in sequence. */
  #last: { readonly key: string; readonly value: unknown } | undefined

  constructor(store: ChainRows) {
    this.#store = store
  }

  /** Undefined, here and below: the block is Ethereum's, and its rows contain all of it. */
  block(hash: Hash32, isFull: boolean): Uint8Array | undefined {
    const reported = this.#store.readReported?.(hash, 'block')
    if (reported === undefined || isFull) return reported?.json
    const block = this.#parsed(hash, 'block', reported.json) as Json
    return bytesOf({ ...block, transactions: transactionsOf(block).map((each) => each.hash) })
  }

  /** The members of its header, including `hash`. */
  header(hash: Hash32): Uint8Array | undefined {
    const block = this.#read(hash, 'block') as Json | undefined
    return (
      block && bytesOf(Object.fromEntries(Object.entries(block).filter(([name]) => !blockMembers.has(name))))
    )
  }

  transaction(hash: Hash32, index: number): Uint8Array | undefined {
    const block = this.#read(hash, 'block') as Json | undefined
    return block && bytesOf(transactionsOf(block)[index])
  }

  /** The receipts from index `first` up to `end`. */
  receipts(hash: Hash32, first = 0, end?: number): Uint8Array | undefined {
    const list = this.#read(hash, 'receipts') as readonly Json[] | undefined
    return list && bytesOf(list.slice(first, end))
  }

  receipt(hash: Hash32, index: number): Uint8Array | undefined {
    const list = this.#read(hash, 'receipts') as readonly Json[] | undefined
    return list && bytesOf(list[index])
  }

  #read(hash: Hash32, part: ReportedPart): unknown {
    // Read each time, so that the store records how the answer is verified.
    const reported = this.#store.readReported?.(hash, part)
    return reported && this.#parsed(hash, part, reported.json)
  }

  #parsed(hash: Hash32, part: ReportedPart, json: Uint8Array): unknown {
    const key = part + bytesToHex(hash)
    if (this.#last?.key !== key) this.#last = { key, value: JSON.parse(Buffer.from(json).toString()) }
    return this.#last.value
  }
}

function transactionsOf(block: Json): readonly Json[] {
  return block.transactions as readonly Json[]
}

function bytesOf(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}
