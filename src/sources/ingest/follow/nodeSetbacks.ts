/** What kept a follower from the heads that nodes claim: which node is left alone for how long, and what is said of it. */

import type { BlockName } from '../../../data/store/chainRows.js'
import { bytesToHex } from '../../../primitives/bytes.js'
import { putNewest } from '../../../primitives/putNewest.js'
import type { Upstream } from '../../upstream/upstream.js'
import type { Upstreams } from '../../upstream/upstreams.js'
import type { BadBlockError } from '../importer.js'
import type { IngestMessage } from '../messages.js'

/** Wait before the chain of a node that cannot be followed is looked at again: at first, and at most; doubled each time. */
const holdOffMs = 1_000
const holdOffMsMax = 300_000
/**
 * How long a node may have a head for which nobody has the block: longer than a block takes from one of several nodes
 * behind an address to the others.
 */
const missedMsMax = 2_000
/** Invalid blocks that are remembered, so that none is executed again for each node that has it. */
const invalidMax = 256

export class NodeSetbacks {
  readonly #upstreams: Upstreams
  readonly #report: (message: IngestMessage) => void
  /** By node: until when its chain is not looked at, and for how long it was not. */
  readonly #heldOff = new Map<Upstream, { readonly untilMs: number; readonly ms: number }>()
  /** By node: since when it claims what nobody has. */
  readonly #missedSince = new Map<Upstream, number>()
  /** By name of a node: the highest number that it said its head has. */
  readonly #highest = new Map<string, number>()
  /** By hash in lower-case hex. */
  readonly #invalid = new Map<string, BadBlockError>()
  #trouble: { readonly why: string; readonly number: number } | undefined

  constructor(upstreams: Upstreams, report: (message: IngestMessage) => void) {
    this.#upstreams = upstreams
    this.#report = report
  }

  /** Why the head does not move; undefined where it does. */
  get trouble(): string | undefined {
    return this.#trouble?.why
  }

  isPaused(upstream: Upstream): boolean {
    return performance.now() < (this.#heldOff.get(upstream)?.untilMs ?? 0)
  }

  /**
   * The chain of a node with the head `number` cannot be followed: it is looked at again later, and others lead
   * meanwhile. The operator is told once where there are none, or they do not help, or this one does not lead alone.
   */
  pauseNode(upstream: Upstream, number: number, why: string): void {
    const before = this.#latelyHeldOff(upstream)
    const ms = before === undefined ? holdOffMs : Math.min(2 * before.ms, holdOffMsMax)
    this.#heldOff.set(upstream, { untilMs: performance.now() + ms, ms })
    this.#upstreams.choice.doubt()
    const isAlone = this.#upstreams.answering.every((other) => other === upstream)
    const isError = isAlone || before !== undefined || this.#upstreams.quorum > 1
    // A lie was told of already.
    if (isError ? this.#trouble === undefined : !upstream.isQuarantined) {
      this.#report({ type: 'said', text: why, isError })
    }
    if (isError) this.#trouble = { why, number }
  }

  /** How a node was held off before; one that others led without for twice as long begins anew. */
  #latelyHeldOff(upstream: Upstream): { readonly ms: number } | undefined {
    const before = this.#heldOff.get(upstream)
    return before && performance.now() <= before.untilMs + 2 * before.ms ? before : undefined
  }

  /** The head of a node, `number`, was reached, or a block towards it was taken. */
  overcome(upstream: Upstream, number: number, isBlockTaken: boolean): void {
    this.#heldOff.delete(upstream)
    this.#missedSince.delete(upstream)
    // A node that is behind has no head yet that cannot be followed.
    if (isBlockTaken || number >= (this.#trouble?.number ?? 0)) this.#trouble = undefined
  }

  /** Nobody has what a node claims. Returns whether that has been so for too long. */
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

  /** Throws BadBlockError where a block is known to be invalid. */
  refuseInvalid({ hash }: BlockName): void {
    const error = this.#invalid.get(bytesToHex(hash))
    if (error !== undefined) throw error
  }

  /** Notes how high the heads of the nodes are. */
  noteHeads(): void {
    for (const { name, head } of this.#upstreams.states()) {
      if (head !== undefined && head > (this.#highest.get(name) ?? -1)) this.#highest.set(name, head)
    }
  }

  /** Whether a node once had a head of this height. The only node has: what it said before a restart is not known. */
  wasAt({ name }: Upstream, number: number): boolean {
    return this.#upstreams.count === 1 || (this.#highest.get(name) ?? -1) >= number
  }
}
