import { LRUCache } from 'lru-cache'
import type { Chain } from '../chain/chain.js'
import type { ChainStep } from '../chain/chainSteps.js'
import type { LogKeys } from '../chain/logFilter.js'
import { removedLogJson } from '../chain/logJson.js'
import { bytesToHex, latin1Key } from '../primitives/bytes.js'
import { EventMessage } from './eventMessage.js'

/** The event for one log that joined or left the chain, with the keys that filters compare. */
interface LogEvent {
  readonly keys: LogKeys
  readonly message: EventMessage
}

/**
 * Memory for log events of recent blocks: after a restart all clients reconnect and replay the same ones. 16 MiB hold
 * 16,000 token transfers at 1 KB.
 */
const cacheBytesMax = 16 * 2 ** 20

/** Bytes of sender and hash of a transaction in a block's row. */
const senderBytes = 52

/** The events of each step of one chain, rendered once for all subscribers. */
export class BlockEvents {
  readonly #chain: Chain
  /** Block hash → its log events for the step that adds it. */
  readonly #cache = new LRUCache<string, readonly LogEvent[]>({
    maxSize: cacheBytesMax,
    sizeCalculation: bytesOf,
  })

  constructor(chain: Chain) {
    this.#chain = chain
  }

  head(step: ChainStep): EventMessage {
    const json = this.#chain.headJson(step.hash)
    if (json === undefined) throw new Error(`the header of ${bytesToHex(step.hash)} is missing`)
    if (step.kind === 'added') return new EventMessage(json, step)
    const text = Buffer.from(json).toString('latin1', 0, json.length - 1)
    return new EventMessage(`${text},"removed":true}`, step)
  }

  /** The receipts of a block that is added, all or those of some transactions; undefined where there are none. */
  receipts(step: ChainStep, wanted: ReadonlySet<string> | 'all' | undefined): EventMessage | undefined {
    if (step.kind === 'removed' || wanted === undefined) return undefined
    const senders = this.#chain.readBlock(step.hash)?.senders
    if (senders === undefined || senders.length === 0) return undefined
    if (wanted === 'all') {
      const json = this.#chain.receiptsJson(step.hash)
      if (json === undefined) throw new Error(`the receipts of ${bytesToHex(step.hash)} are missing`)
      return new EventMessage(json, step)
    }
    const found: string[] = []
    for (let at = 0; at < senders.length; at += senderBytes) {
      if (!wanted.has(latin1Key(senders.subarray(at + 20, at + senderBytes)))) continue
      const json = this.#chain.receiptJson({ blockHash: step.hash, index: at / senderBytes })
      found.push(Buffer.from(json ?? 'null').toString('latin1'))
    }
    return found.length === 0 ? undefined : new EventMessage(`[${found.join()}]`, step)
  }

  /** The log events of a step: in log order for a block that is added, reversed for one that is removed. */
  logs(step: ChainStep): readonly LogEvent[] {
    if (step.kind === 'removed') return this.#render(step).reverse()
    const key = bytesToHex(step.hash)
    const known = this.#cache.get(key)
    if (known !== undefined) return known
    const events = this.#render(step)
    this.#cache.set(key, events)
    return events
  }

  #render(step: ChainStep): LogEvent[] {
    const logs = this.#chain.readLogs(step.hash)
    if (logs === undefined) throw new Error(`the receipts of ${bytesToHex(step.hash)} are missing`)
    return logs.map(({ address, topics, json }) => ({
      keys: { address, topics },
      message: new EventMessage(step.kind === 'added' ? json : removedLogJson(json), step),
    }))
  }
}

/** Counted for a block's entry itself, which a block without logs has too. */
const entryBytes = 100

function bytesOf(events: readonly LogEvent[]): number {
  return events.reduce((sum, { message }) => sum + message.size, entryBytes)
}
