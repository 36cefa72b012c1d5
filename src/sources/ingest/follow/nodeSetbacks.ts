/**
 * Why a follower could not import the heads that nodes claim: which nodes are paused and for how long, and the messages
 * about it.
 */

import type { BlockName } from '../../../data/store/chainRows.js'
import { bytesToHex } from '../../../primitives/bytes.js'
import { putNewest } from '../../../primitives/putNewest.js'
import type { Upstream } from '../../upstream/upstream.js'
import type { Upstreams } from '../../upstream/upstreams.js'
import type { BadBlockError } from '../blocks/importer.js'
import type { IngestMessage } from '../thread/messages.js'

/** Wait before a chain that cannot be followed is tried again: the first and the longest; it doubles each time. */
const holdOffMs = 1_000
const holdOffMsMax = 300_000
/**
 * How long a node may claim a head that no node has: longer than a block takes between several nodes behind an address.
 */
const missedMsMax = 2_000
/** Number of remembered invalid blocks, so that none is executed again for each node that has it. */
const invalidMax = 256

export class NodeSetbacks {
  readonly #upstreams: Upstreams
  readonly #report: (message: IngestMessage) => void
  /** By node: the end and the length of its pause. */
  readonly #pauses = new Map<Upstream, { readonly untilMs: number; readonly ms: number }>()
  /** By node: since when it claims a block that no node has. */
  readonly #missedSince = new Map<Upstream, number>()
  /** By name of a node: the highest number of its heads. */
  readonly #highest = new Map<string, number>()
  /** By hash in lower-case hex. */
  readonly #invalid = new Map<string, BadBlockError>()
  #trouble: { readonly why: string; readonly number: number } | undefined

  constructor(upstreams: Upstreams, report: (message: IngestMessage) => void) {
    this.#upstreams = upstreams
    this.#report = report
  }

  /** Why the head does not move; undefined if it does. */
  get trouble(): string | undefined {
    return this.#trouble?.why
  }

  isPaused(upstream: Upstream): boolean {
    return performance.now() < (this.#pauses.get(upstream)?.untilMs ?? 0)
  }

  /**
   * Pauses a node with the head `number` whose chain cannot be followed; other nodes lead meanwhile. The operator gets
   * one message if there are no others, or they do not help, or the node does not lead alone.
   */
  pauseNode(upstream: Upstream, number: number, why: string): void {
    const before = this.#latelyPaused(upstream)
    const ms = before === undefined ? holdOffMs : Math.min(2 * before.ms, holdOffMsMax)
    this.#pauses.set(upstream, { untilMs: performance.now() + ms, ms })
    this.#upstreams.choice.doubt()
    const isAlone = this.#upstreams.answering.every((other) => other === upstream)
    const isError = isAlone || before !== undefined || this.#upstreams.quorum > 1
    // A lie was reported already.
    if (isError ? this.#trouble === undefined : !upstream.policy.isQuarantined) {
      this.#report({ type: 'said', text: why, isError })
    }
    if (isError) this.#trouble = { why, number }
  }

  /** The last pause of a node. It starts over if others led without it for twice as long. */
  #latelyPaused(upstream: Upstream): { readonly ms: number } | undefined {
    const before = this.#pauses.get(upstream)
    return before && performance.now() <= before.untilMs + 2 * before.ms ? before : undefined
  }

  /** The head `number` of a node was imported, or a block on the path to it. */
  overcome(upstream: Upstream, number: number, isBlockTaken: boolean): void {
    this.#pauses.delete(upstream)
    this.#missedSince.delete(upstream)
    // A node that is behind has not yet claimed the head that could not be followed.
    if (isBlockTaken || number >= (this.#trouble?.number ?? 0)) this.#trouble = undefined
  }

  /** Notes that no node has a claimed block. Returns whether that has lasted too long. */
  missed(upstream: Upstream): boolean {
    const now = performance.now()
    const since = this.#missedSince.get(upstream) ?? now
    this.#missedSince.set(upstream, since)
    if (now - since < missedMsMax) return false
    this.#missedSince.delete(upstream)
    return true
  }

  noteInvalid(error: BadBlockError): void {
    putNewest(this.#invalid, error.hash, error, invalidMax)
  }

  /** Throws BadBlockError if a block is known to be invalid. */
  refuseInvalid({ hash }: BlockName): void {
    const error = this.#invalid.get(bytesToHex(hash))
    if (error !== undefined) throw error
  }

  /** Records the highest heads of the nodes. */
  noteHeads(): void {
    for (const { name, head } of this.#upstreams.states()) {
      if (head !== undefined && head > (this.#highest.get(name) ?? -1)) this.#highest.set(name, head)
    }
  }

  /**
   * Whether a node once had a head of this height. For a single node it is assumed: its heads before a restart are not
   * known.
   */
  wasAt({ name }: Upstream, number: number): boolean {
    return this.#upstreams.count === 1 || (this.#highest.get(name) ?? -1) >= number
  }
}
