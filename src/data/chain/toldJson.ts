/**
 * Blocks of chains of other families as JSON: what an upstream had, with members that no row has. What roots cover in it
 * was compared when it was stored (ingest/gateway/familyBlock.ts).
 */
import { bytesToHex, type Hash32 } from '../../primitives/bytes.js'
import type { ChainRows, ToldPart } from '../store/chainRows.js'

type Json = Readonly<Record<string, unknown>>

/** Members of a block that its header does not have. */
const blockMembers: ReadonlySet<string> = new Set([
  ...['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty', 'blockExtraData'],
])

export class ToldJson {
  readonly #store: ChainRows
  /** What was parsed last: often transactions of one block are asked for one after the other. */
  #last: { readonly key: string; readonly value: unknown } | undefined

  constructor(store: ChainRows) {
    this.#store = store
  }

  /** Of all of these undefined: the block is Ethereum's, and its rows have all of it. */
  block(hash: Hash32, isFull: boolean): Uint8Array | undefined {
    const told = this.#store.readTold?.(hash, 'block')
    if (told === undefined || isFull) return told?.json
    const block = this.#parsed(hash, 'block', told.json) as Json
    return bytesOf({ ...block, transactions: transactionsOf(block).map((each) => each.hash) })
  }

  /** The members of its header; `hash` among them. */
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

  /** Those from index `first` up to `end`. */
  receipts(hash: Hash32, first = 0, end?: number): Uint8Array | undefined {
    const list = this.#read(hash, 'receipts') as readonly Json[] | undefined
    return list && bytesOf(list.slice(first, end))
  }

  receipt(hash: Hash32, index: number): Uint8Array | undefined {
    const list = this.#read(hash, 'receipts') as readonly Json[] | undefined
    return list && bytesOf(list[index])
  }

  #read(hash: Hash32, part: ToldPart): unknown {
    // Each time, since the store notes how it is known.
    const told = this.#store.readTold?.(hash, part)
    return told && this.#parsed(hash, part, told.json)
  }

  #parsed(hash: Hash32, part: ToldPart, json: Uint8Array): unknown {
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
