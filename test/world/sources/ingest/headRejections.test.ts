// @shares
/**
 * Each question that keeps a gateway current fails, in each form. Reading a head then rejects. No other promise rejects
 * without a handler, which would end the thread.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { ForkSchedule } from '../../../../src/data/chain/forks.js'
import type { ChainIdentity } from '../../../../src/data/store/chainRows.js'
import { ValueUse } from '../../../../src/data/store/valueUse.js'
import { type Address, hexToBytes } from '../../../../src/primitives/bytes.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { HeadReader } from '../../../../src/sources/ingest/gateway/headReader.js'
import { HotSet } from '../../../../src/sources/ingest/gateway/hotSet.js'
import { ProofFetcher } from '../../../../src/sources/ingest/gateway/proofFetcher.js'
import type { Asking } from '../../../../src/sources/ingest/nodes/proving.js'
import { NodeError, type Upstream } from '../../../../src/sources/upstream/upstream.js'
import { NoAnswerError } from '../../../../src/sources/upstream/upstreams.js'
import { amsterdamFile, readAmsterdamBlocks, withoutAmsterdam } from '../../../ingest/amsterdam.js'
import { makeAmsterdamReplay } from '../../../ingest/amsterdamReplay.js'
import { makeLinkedStore } from '../../../ingest/archiveNodes.js'
import { ArchiveNode, type Offer } from '../../../ingest/gatewayRig.js'
import { upstreamDouble } from '../../../upstream/upstreamDouble.js'

/** Failures of a question. After `away` no node answers any more. */
const failures = ['away', 'late', 'error', 'unknown', 'null', 'wrong', 'shape'] as const
type Failure = (typeof failures)[number]

/** Blocks whose headers the gateway has below the one that is read. */
const linked = 4

/** Several nodes, of which each fails at one question of its own. */
class FailingNodes implements Asking {
  readonly quorum = 1
  readonly #archive: ArchiveNode
  readonly #at: number
  readonly #failure: Failure
  readonly #isSlow: boolean
  readonly #nodes: (Upstream & { asked: number; isGone: boolean })[]

  constructor(archive: ArchiveNode, count: number, at: number, failure: Failure, isSlow: boolean) {
    this.#archive = archive
    this.#at = at
    this.#failure = failure
    this.#isSlow = isSlow
    this.#nodes = Array.from({ length: count }, (_, index) => {
      const accuse = () => {
        node.isGone = true
      }
      const node = Object.assign(upstreamDouble(`n${index}`, accuse), { asked: 0, isGone: at < 0 })
      return node
    })
  }

  get count(): number {
    return this.#nodes.length
  }

  /** The most questions that one node got. */
  get asked(): number {
    return Math.max(...this.#nodes.map(({ asked }) => asked))
  }

  get candidates(): readonly Upstream[] {
    return this.#nodes.filter(({ isGone }) => !isGone)
  }

  async ask(
    method: string,
    params: readonly unknown[],
    { not = [], only }: { not?: readonly Upstream[]; only?: Upstream },
  ) {
    const may = this.#nodes.filter((node) => !node.isGone && !not.includes(node))
    const upstream = only === undefined ? may[0] : may.find((node) => node === only)
    if (upstream === undefined) throw new NoAnswerError('nobody is left')
    const isBad = upstream.asked++ === this.#at
    if (this.#isSlow) await setImmediate()
    const answer = this.#archive.answer({ method, params })
    const result = 'result' in answer ? answer.result : undefined
    if (!isBad) {
      if ('error' in answer) throw new NodeError(upstream, answer.error.code, answer.error.message, undefined)
      return { result, upstream }
    }
    switch (this.#failure) {
      case 'away':
        for (const node of this.#nodes) node.isGone = true
        throw new NoAnswerError('nobody answers')
      case 'late':
        throw new NoAnswerError('it did not answer in time')
      case 'error':
        throw new NodeError(upstream, -32000, 'header not found', undefined)
      case 'unknown':
        throw new NodeError(upstream, -32601, 'no such method', undefined)
      case 'null':
        return { result: null, upstream }
      case 'shape':
        return { result: { state: [], codes: [], headers: [] }, upstream }
      case 'wrong':
        return { result: typeof result === 'string' ? `${result.slice(0, -2)}00` : ['0x00'], upstream }
    }
  }
}

const ways: Readonly<Record<string, readonly Offer[]>> = {
  proofs: [],
  witness: ['witness'],
  accessList: ['accessList'],
  all: ['accessList', 'witness'],
}

const rounds = [
  [1, false],
  [1, true],
  [2, true],
] as const

t.test('no failure of a question for a head rejects unheard', { skip: withoutAmsterdam }, async (t) => {
  const unheard: unknown[] = []
  const listen = (error: unknown): void => void unheard.push(error)
  process.on('unhandledRejection', listen)
  t.teardown(() => process.off('unhandledRejection', listen))
  const genesis = readFileSync(amsterdamFile('a1-cross', 'genesis.json'), 'utf8')
  const { blocks } = await makeAmsterdamReplay(t, { length: 54, from: 44, intervalMs: 0 })
  const archive = await ArchiveNode.open(t, genesis, [])
  for (const { rlp } of blocks.slice(0, 52)) await archive.take(rlp)
  const { number, hash } = archive.head
  const identity = archive.store.readIdentity() as ChainIdentity
  const store = makeLinkedStore(join(t.testdir(), 'chain.mdb'), archive.store, number - linked, linked)
  t.teardown(() => store.close())
  const hot = new HotSet(ValueUse.shared(), { units: 64, bytes: 2 ** 20 })
  const touched = readAmsterdamBlocks('a1-cross').flatMap(({ blockAccessList = [] }) => blockAccessList)
  for (const { address } of touched.slice(0, 3)) {
    const account = hexToBytes(address) as Uint8Array as Address
    hot.note({ address: account, slots: [] })
  }
  const options = { schedule: ForkSchedule.of(identity), fetchMsMax: 60_000, hot }
  const outcomes = { read: 0, absent: 0, refused: 0 }
  for (const [way, offers] of Object.entries(ways)) {
    archive.offers = new Set(offers)
    for (const failure of failures) {
      for (const [count, isSlow] of rounds) {
        for (let at = -1, most = 0; at <= most; at++) {
          const nodes = new FailingNodes(archive, count, at, failure, isSlow)
          const reader = new HeadReader(store, new ProofFetcher(store, nodes, options), options)
          try {
            const block = await reader.read(hash)
            outcomes[block === undefined ? 'absent' : 'read']++
          } catch (error) {
            outcomes.refused++
            const isOwn = error instanceof FaultError || /no upstream has/.test((error as Error).message)
            if (!isOwn) t.fail(`${way}, ${failure}, ${at}: ${(error as Error).stack}`)
          }
          await setImmediate()
          const where = `${way}, ${failure} at question ${at} of ${nodes.asked}, ${count} nodes`
          if (unheard.length > 0) t.fail(`${where}: ${(unheard.splice(0)[0] as Error).stack}`)
          most = Math.max(most, nodes.asked - 1)
        }
      }
    }
  }
  t.comment(JSON.stringify(outcomes))
  t.ok(outcomes.read > 0 && outcomes.refused > 0)
})
