import { LRUCache } from 'lru-cache'
import type { Chain } from '../chain/chain.js'
import type { ChainStep } from '../chain/chainSteps.js'
import type { LogKeys } from '../chain/logFilter.js'
import { removedLogJson } from '../chain/logJson.js'
import { bytesToHex } from '../primitives/bytes.js'
import { EventMessage } from './eventMessage.js'

/** One log that joined or left the chain, and the event that says so. */
export interface LogEvent {
  readonly keys: LogKeys
  readonly message: EventMessage
}

/**
 * Events of logs kept for those who replay the same blocks: after a restart all clients come back and ask for the
 * last ones. 16 MiB hold 16,000 token transfers at 1 KB.
 */
const cacheBytesMax = 16 * 2 ** 20

/** What each step of one chain says to subscribers, rendered once for all of them. */
export class BlockEvents {
  readonly #chain: Chain
  /** Block hash → its log events when added. */
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

  /** Oldest first for a block that is added, newest first for one that is removed. */
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

/** A block without logs takes an entry as well. */
const entryBytes = 100

function bytesOf(events: readonly LogEvent[]): number {
  return events.reduce((sum, { message }) => sum + message.size, entryBytes)
}
