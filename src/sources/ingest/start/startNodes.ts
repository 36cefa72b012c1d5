/**
 * Nodes that provide the first block of a store, if it is in no file, and that confirm it. A quorum of nodes or
 * validators' signatures confirm it. Owns which block that is; `fetchState.ts` owns its state.
 */

import { ancestorsMax } from '../../../data/store/chainRows.js'
import {
  bytesToHex,
  equalBytes,
  type Hash32,
  hexToBytes,
  toHash32,
  toQuantity,
} from '../../../primitives/bytes.js'
import { pause } from '../../../primitives/deferred.js'
import { OperatorError } from '../../../primitives/faults.js'
import { NodeError, type Upstream } from '../../upstream/upstream.js'
import { type Asked, NoAnswerError, type Upstreams } from '../../upstream/upstreams.js'
import type { SignedHead } from '../beacon/signedHead.js'
import type { BlockLink } from '../blocks/block.js'
import type { Genesis } from '../blocks/genesis.js'
import { blockNameOf } from '../blocks/markers.js'
import { SignedLinks } from '../nodes/signedLinks.js'
import { openNodes } from '../nodes/sourceNodes.js'
import type { UpstreamBlocks } from '../nodes/upstreamBlocks.js'
import type { StartNodesPlan } from '../thread/messages.js'
import { Ends, type SourceHost } from '../thread/runSource.js'
import { type StartHeader, startHeader } from './startBlocks.js'

/** How long nodes may be away, or behind, before the import ends; the next run continues it. */
const patienceMs = 10 * 60_000
/**
 * Longest time for nodes to confirm that a block is on their chain: a busy one takes seconds, and an import is worth
 * the wait.
 */
const vouchMs = 30_000
/** Time between two checks whether the signed head is known. */
const signedMs = 200

export class StartNodes {
  readonly #upstreams: Upstreams
  readonly #blocks: UpstreamBlocks
  readonly #signed: SignedHead | undefined
  readonly #signal: AbortSignal
  readonly #ends = new Ends()
  #running: Promise<void> | undefined

  /** Throws OperatorError for beacon nodes without a checkpoint. */
  constructor(plan: StartNodesPlan, { identity, schedule }: Genesis, host: SourceHost) {
    const log = (text: string) => host.report({ type: 'said', text })
    const parts = { identity, schedule, requestMs: patienceMs, log, onEnd: this.#ends.add }
    const { upstreams, blocks, signed } = openNodes({ ...plan, pollMs: signedMs }, parts)
    this.#upstreams = upstreams
    this.#blocks = blocks
    this.#signed = signed
    this.#signal = host.signal
    const ending = new AbortController()
    this.#ends.add(() => ending.abort())
    host.signal.addEventListener('abort', () => upstreams.close())
    this.#running = signed?.run(AbortSignal.any([ending.signal, host.signal]))
  }

  /** Names of the nodes, for messages. */
  get names(): string {
    return this.#upstreams
      .states()
      .map(({ name }) => name)
      .join(', ')
  }

  /** See {@link Upstreams.check}. */
  async check(ms: number): Promise<void> {
    await this.#upstreams.check(ms)
  }

  /**
   * The answer of a node; an error counts only after all were asked. Rejects with {@link NodeError} if all that answer
   * give an error, with OperatorError if none answers.
   */
  async ask(method: string, params: readonly unknown[]): Promise<Asked> {
    const not: Upstream[] = []
    const deadline = performance.now() + patienceMs
    let refusal: NodeError | undefined
    while (not.length < this.#upstreams.count) {
      try {
        return await this.#upstreams.ask(method, params, { deadline, not })
      } catch (error) {
        if (error instanceof NodeError) {
          refusal ??= error
          not.push(error.upstream)
        } else if (error instanceof NoAnswerError) {
          throw (
            refusal ?? new OperatorError(`${error.message}; run the import again, which continues from here`)
          )
        } else throw error
      }
    }
    throw refusal ?? new Error('there are no nodes')
  }

  /**
   * The whole block with this hash, or the last finalized one, and the headers before it. Rejects with OperatorError.
   */
  async headers(hash: string | undefined): Promise<StartHeader[]> {
    const named = hash === undefined ? (await this.#final()).hash : toHash32(hexToBytes(hash))
    const fetched = await this.#blocks.byHash(named)
    if (fetched === undefined) throw new OperatorError(`no node has block ${bytesToHex(named)}; check --hash`)
    const headers = [startHeader(fetched.rlp)]
    let lowest: BlockLink = fetched
    while (lowest.number > 1 && headers.length <= ancestorsMax) {
      const count = Math.min(lowest.number - 1, ancestorsMax + 1 - headers.length)
      const below = await this.#blocks.linksBelow(lowest, count)
      if (below.length === 0) {
        const { number, parentHash } = lowest
        throw new OperatorError(`no node has the header of block ${number - 1} (${bytesToHex(parentHash)})`)
      }
      for (const { headerRlp } of below) headers.push(startHeader(headerRlp))
      lowest = below.at(-1) as BlockLink
    }
    return headers
  }

  /** Hash of the block after a block; nodes provide the slots before that block. Rejects with OperatorError. */
  async child(number: number, hash: Hash32): Promise<string> {
    const { result } = await this.ask('eth_getBlockByNumber', [toQuantity(number + 1), false])
    const block = (result ?? {}) as { readonly hash?: unknown; readonly parentHash?: unknown }
    if (block.parentHash === bytesToHex(hash) && typeof block.hash === 'string') return block.hash
    throw new OperatorError(
      `the nodes have no block after block ${number} (${bytesToHex(hash)}), before which they report its slots; name an older block with --hash`,
    )
  }

  /** Rejects with OperatorError unless nodes agree on the block, or it is an ancestor of a signed one. */
  async vouch({ number, hash }: Pick<BlockLink, 'number' | 'hash'>): Promise<void> {
    const what = `block ${number} (${bytesToHex(hash)})`
    if (this.#signed !== undefined) {
      const final = await this.#final()
      const signed = await new SignedLinks(this.#blocks).at(number, number, final.hash)
      if (signed !== undefined && equalBytes(signed.hash, hash)) return
      throw new OperatorError(
        `${what} does not lead to block ${final.number} (${bytesToHex(final.hash)}), which is signed and final`,
      )
    }
    const [leader] = this.#upstreams.candidates
    const agreed = leader && (await this.#blocks.agreedHash(number, leader, vouchMs))
    if (agreed !== undefined && equalBytes(agreed, hash)) return
    const { quorum, count } = this.#upstreams
    throw new OperatorError(
      `fewer than ${quorum} of ${count} nodes have ${what} on their chain; name another one with --hash, or other nodes`,
    )
  }

  async close(): Promise<void> {
    await this.#ends.end()
    await this.#running?.catch(() => undefined)
  }

  /** The last finalized block: the signed one, or the one that nodes report. */
  async #final(): Promise<Pick<BlockLink, 'number' | 'hash'>> {
    const signed = this.#signed
    if (signed === undefined) {
      const { result } = await this.ask('eth_getBlockByNumber', ['finalized', false]).catch((error) => {
        if (error instanceof NodeError) return { result: null }
        throw error
      })
      const block = blockNameOf(result)
      if (block !== undefined) return block
      throw new OperatorError(
        `no node names a final block; name the block at which the store begins with --hash`,
      )
    }
    const deadline = performance.now() + patienceMs
    while (signed.finalized === undefined && performance.now() < deadline && !this.#signal.aborted) {
      await Promise.race([this.#running, pause(signedMs, this.#signal)])
    }
    if (signed.finalized !== undefined) return signed.finalized
    throw new OperatorError(signed.trouble ?? 'no beacon node reports a signed and final block')
  }
}
