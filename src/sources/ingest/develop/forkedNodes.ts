/**
 * The nodes of the chain on which a developer chain is forked: proofs of its base's state, and blocks below. Opened at
 * the first question, so that a complete chain sends no request.
 */
import { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader } from '../../../data/chain/header.js'
import { beaconRoots, parentHashes } from '../../../data/chain/protocolContracts.js'
import type { StateView } from '../../../data/state/stateView.js'
import { ancestorsMax, type ChainIdentity } from '../../../data/store/chainRows.js'
import type { CanonicalHeader } from '../../../data/store/gatewayWriter.js'
import {
  bytesToBigInt,
  bytesToHex,
  equalBytes,
  type Hash32,
  latin1Key,
  padLeft,
  toMinimalBytes,
} from '../../../primitives/bytes.js'
import { messageRefused, OperatorError } from '../../../primitives/faults.js'
import {
  type FetchMissing,
  MissingStateError,
  NotStoredError,
  type Wanted,
} from '../../../primitives/notStored.js'
import type { UpstreamOptions } from '../../upstream/upstream.js'
import type { Upstreams } from '../../upstream/upstreams.js'
import { HeaderLinks, type LinkedHeader } from '../gateway/headerLinks.js'
import { ProofFetcher } from '../gateway/proofFetcher.js'
import { openNodes } from '../nodes/sourceNodes.js'
import type { ForkPlan } from '../thread/messages.js'
import type { ForkedBase, ForkedWriter } from './forkedStore.js'

/**
 * Number of slots of a ring (EIP-2935, EIP-4788) that are fetched together. They are neighbours, for other blocks. A proof
 * of this many is some 200 KB.
 */
const ringAhead = 64n
/** Slots of the rings of both proposals. */
const ringSlots = 8_191n

type WantedState = Extract<Wanted, { readonly kind: 'state' }>

interface Opened {
  readonly upstreams: Upstreams
  readonly fetcher: ProofFetcher
  readonly links: HeaderLinks
}

/** Another base: a block of the same chain. */
export interface NewBase {
  /** A node of the chain; if undefined, the one that was asked so far. */
  readonly url: string | undefined
  /** Number of the block; if undefined, the newest one. */
  readonly number: number | undefined
}

export interface ForkedNodesOptions {
  readonly plan: ForkPlan
  readonly log: (text: string) => void
  readonly onEnd: (end: () => unknown) => void
}

export class ForkedNodes {
  readonly #store: ForkedWriter
  readonly #identity: ChainIdentity
  readonly #options: ForkedNodesOptions
  #plan: ForkPlan
  #opened: Opened | undefined

  /** `identity` is that of the nodes' chain. */
  constructor(store: ForkedWriter, identity: ChainIdentity, options: ForkedNodesOptions) {
    this.#store = store
    this.#identity = identity
    this.#options = options
    this.#plan = options.plan
    options.onEnd(() => this.#opened?.upstreams.close())
  }

  get #nodes(): Opened {
    this.#opened ??= this.#open(this.#plan)
    return this.#opened
  }

  #open(plan: ForkPlan): Opened {
    const { log } = this.#options
    const { fetchMsMax } = plan
    const schedule = ForkSchedule.of(this.#identity)
    const parts = { identity: this.#identity, schedule, requestMs: fetchMsMax, log, onEnd: () => undefined }
    const { upstreams } = openNodes({ ...plan, quorum: 1 }, parts)
    const fetcher = new ProofFetcher(this.#store, upstreams, { schedule, fetchMsMax, log })
    return { upstreams, fetcher, links: new HeaderLinks(this.#store, fetcher) }
  }

  /** Makes a block of the nodes the base of a new store, which is of the chain `own`. Rejects with OperatorError if no node has it. */
  async begin(own: ChainIdentity, number: number | undefined): Promise<void> {
    const header = await this.#readBase(this.#nodes, number)
    this.#store.beginAt(own, header, { hash: bytesToHex(header.hash), chainId: this.#identity.chainId })
  }

  /**
   * Makes another block of the same chain the base. A block that was the base before is read from the store. Rejects with
   * OperatorError, and changes nothing, if the node does not have the block or is of another chain.
   */
  async moveBase({ url, number }: NewBase): Promise<void> {
    const isSame = url === undefined || this.#plan.upstreams.some((each) => each.url === url)
    if (isSame) {
      const known = number === undefined ? undefined : this.#store.baseAt(number)
      return this.#store.moveBase(known ?? (await this.#readBase(this.#nodes, number)))
    }
    const plan = { ...this.#plan, upstreams: [nodeAt(url, this.#plan)] }
    const opened = this.#open(plan)
    try {
      this.#store.moveBase(await this.#readBase(opened, number))
    } catch (error) {
      opened.upstreams.close()
      throw error
    }
    this.#opened?.upstreams.close()
    this.#opened = opened
    this.#plan = plan
  }

  async #readBase({ upstreams, fetcher }: Opened, number: number | undefined): Promise<CanonicalHeader> {
    const deadline = performance.now() + this.#plan.fetchMsMax
    try {
      const at = number ?? Number((await upstreams.ask('eth_blockNumber', [], { deadline })).result)
      const header = await fetcher.readAgreed(at)
      if (header === undefined) throw new OperatorError(`the node of the fork has no block ${at}`)
      return header
    } catch (error) {
      if (error instanceof OperatorError) throw error
      throw new OperatorError(`the base of the fork cannot be read: ${(error as Error).message}`)
    }
  }

  /** Fetches for an edge; see {@link FetchMissing}. */
  readonly fetch: FetchMissing = async (wanted, call) => {
    const isLinked = wanted.kind === 'canonical' && (await this.#link(wanted.number))
    if (isLinked) return false
    return (await this.#nodes.fetcher.fetch(this.#store.fromBase(wanted), call)) === 'absent'
  }

  /** Runs `work`, and again each time its missing data was fetched. Rejects with the errors of `work`. */
  async supply<T>(work: () => T): Promise<T> {
    for (let round = 0; ; round++) {
      try {
        return work()
      } catch (error) {
        if (!(error instanceof NotStoredError)) throw error
        const { forkRoundsMax } = this.#plan
        if (round === forkRoundsMax)
          throw messageRefused(`this reads more of the forked chain than ${forkRoundsMax} fetches bring`)
        await this.#fetchAll(error instanceof MissingStateError ? error.all : [error.wanted])
      }
    }
  }

  /** All in one turn, so that requests share batches; slots of one account share a proof. */
  async #fetchAll(wanted: readonly Wanted[]): Promise<void> {
    const states = new Map<string, WantedState>()
    const others: Wanted[] = []
    for (const each of wanted.map((one) => this.#store.fromBase(one))) {
      if (each.kind !== 'state') {
        others.push(each)
        continue
      }
      const name = latin1Key(each.address)
      const slots = [...(states.get(name)?.slots ?? []), ...withRing(each, this.#store.base)]
      states.set(name, { ...each, slots })
    }
    const { forkProofSlotsMax } = this.#plan
    const parts = Array.from(states.values(), (each) => shares(each, forkProofSlotsMax)).flat()
    await Promise.all([
      ...others.map((each) => this.fetch(each)),
      // The account's code comes too: an execution that reads the account mostly runs it.
      ...parts.map((each) => this.#nodes.fetcher.fetchWithCode(each)),
    ])
  }

  /** Links headers below the base down to a number that BLOCKHASH can read; false for any other. */
  async #link(number: number): Promise<boolean> {
    const { base } = this.#store
    const from = this.#store.readLinkedFrom() ?? base.number
    if (number >= from || number < base.number - ancestorsMax) return number >= from
    const lowest = this.#store.readCanonicalRow(from)
    if (lowest === undefined) return false
    const { parentHash } = decodeHeader(lowest.header)
    const stored = this.#storedDown(parentHash, number)
    const linked = stored.length > 0 ? stored : await this.#nodes.links.down(parentHash, from - 1, number)
    this.#store.extendDown(
      linked.map(({ hash, header, headerRlp }) => {
        return { number: header.number, hash, header: headerRlp, totalDifficulty: undefined }
      }),
    )
    return this.#link(number)
  }

  /** The stored headers from a hash down to a number, as far as they are linked: those below an earlier base. */
  #storedDown(hash: Hash32, lowest: number): LinkedHeader[] {
    const found: LinkedHeader[] = []
    for (let next = hash; this.#store.hasHeader(next); ) {
      const headerRlp = this.#store.readHeader(next) as Uint8Array
      const header = decodeHeader(headerRlp)
      if (header.number < lowest) break
      found.push({ hash: next, header, headerRlp })
      next = header.parentHash
    }
    return found
  }
}

/**
 * A node that a caller names, with the limits of the first node. The secrets of the first node are only for its own
 * URL.
 */
function nodeAt(url: string, { upstreams: [first] }: ForkPlan): UpstreamOptions {
  const { timeoutMs, answerBytesMax, requestsPerSecond } = first as UpstreamOptions
  return { url, timeoutMs, answerBytesMax, requestsPerSecond }
}

/** Parts of a request, each with at most as many slots as nodes prove at once. */
function shares(wanted: WantedState, slotsMax: number): WantedState[] {
  const slots = [...new Map(wanted.slots.map((slot) => [latin1Key(slot), slot])).values()]
  const found: WantedState[] = []
  for (let at = 0; at === 0 || at < slots.length; at += slotsMax)
    found.push({ ...wanted, slots: slots.slice(at, at + slotsMax) })
  return found
}

/**
 * The wanted slots, and those that the system calls of other blocks read beside them. Beacon roots have two rings: a block
 * writes the same place of both. Places are counted from that of the base. The clock begins there at each start, so a
 * second run needs the places of the first.
 */
function withRing({ address, slots }: WantedState, { timestamp, number }: ForkedBase): readonly Uint8Array[] {
  const isRoots = equalBytes(beaconRoots.address, address)
  if (!isRoots && !equalBytes(parentHashes.address, address)) return slots
  const origin = BigInt(isRoots ? timestamp : number) % ringSlots
  const rings = isRoots ? [0n, ringSlots] : [0n]
  return slots.flatMap((slot) => {
    const distance = ((bytesToBigInt(slot) % ringSlots) - origin + ringSlots) % ringSlots
    const first = origin + distance - (distance % ringAhead)
    return rings.flatMap((ring) =>
      Array.from({ length: Number(ringAhead) }, (_, ahead) =>
        padLeft(toMinimalBytes(ring + ((first + BigInt(ahead)) % ringSlots)), 32),
      ),
    )
  })
}

/**
 * Runs `run` on a state. If the state lacked data, throws MissingStateError that names all of it, in place of the
 * result.
 */
export function runCollecting<T>(below: StateView, run: (state: StateView) => T): T {
  const missing: Wanted[] = []
  const collected = <V>(read: () => V): V | undefined => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof NotStoredError)) throw error
      missing.push(error.wanted)
      return undefined
    }
  }
  const state: StateView = {
    ...below,
    account: (address) => collected(() => below.account(address)),
    slot: (address, slot) => collected(() => below.slot(address, slot)),
    code: (hash) => collected(() => below.code(hash)),
    // Contracts of the base lose no slots: since Cancun only those of the same transaction are destroyed.
    slotsOf: () => [],
  }
  let result: T | undefined
  let failure: { readonly error: unknown } | undefined
  try {
    result = run(state)
  } catch (error) {
    failure = { error }
  }
  const [first, ...others] = missing
  // Values read in place of missing ones are wrong, and so are failures that follow from them.
  if (first !== undefined) throw new MissingStateError([first, ...others])
  if (failure !== undefined) throw failure.error
  return result as T
}
