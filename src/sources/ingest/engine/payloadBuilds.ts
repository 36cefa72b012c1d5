/**
 * Blocks that are built for a consensus client, by their payload ids. Owns when a block is built: at once, and again
 * when the client requests it. It is built again only if transactions came in between and its parent is still the head.
 */
import { type ForkSchedule, includesFork } from '../../../data/chain/forks.js'
import { decodeHeader, type Header } from '../../../data/chain/header.js'
import { gasUsedByEach } from '../../../data/chain/suggestedTip.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { bytesToHex, equalBytes, type Hash32, toQuantity } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { putNewest } from '../../../primitives/putNewest.js'
import type { BlockMaker, MadeBlock } from '../develop/blockMaker.js'
import { tipOf } from '../develop/byTip.js'
import {
  derivedExtraData,
  type ForkRange,
  isWithin,
  type PayloadAttributes,
  payloadIdOf,
} from './attributes.js'
import { type BlobSidecar, hasCellProofs, sidecarsOf } from './blobs.js'
import { EngineError } from './engineError.js'
import type { Json } from './engineFields.js'
import { payloadJson } from './payload.js'

/** As many as go-ethereum keeps (maxTrackedPayloads). A consensus client requests one or two a slot. */
export const buildsMax = 10

interface Build {
  readonly parentHash: Hash32
  readonly attributes: PayloadAttributes
  made: MadeBlock
  /** Number of transactions that the pool had accepted when the payload was built. */
  arrivals: number
  /** Whether the client has requested the block. After that it does not change. */
  isFinal: boolean
}

/** Forks of the payloads of each version of `getPayload`. */
const payloadForks: readonly (ForkRange | undefined)[] = [
  undefined,
  [undefined, 'shanghai'],
  [undefined, 'cancun'],
  ['cancun', 'prague'],
  ['prague', 'osaka'],
  ['osaka', 'amsterdam'],
  ['amsterdam', undefined],
]

export class PayloadBuilds {
  readonly #store: ChainWriter
  readonly #schedule: ForkSchedule
  readonly #maker: BlockMaker
  readonly #countMax: number
  /** By payload id, hex; the oldest first. */
  readonly #builds = new Map<string, Build>()

  constructor(store: ChainWriter, schedule: ForkSchedule, maker: BlockMaker, countMax = buildsMax) {
    this.#store = store
    this.#schedule = schedule
    this.#maker = maker
    this.#countMax = countMax
  }

  /** Builds a block on the head, unless there is one with these attributes. Returns its payload id. Throws EngineError. */
  start(attributes: PayloadAttributes): string {
    const { hash } = this.#store.head
    const id = bytesToHex(payloadIdOf(hash, attributes))
    const { arrivals } = this.#maker.waiting
    const build = this.#builds.get(id) ?? {
      parentHash: hash,
      attributes,
      made: this.#make(attributes),
      arrivals,
      isFinal: false,
    }
    putNewest(this.#builds, id, build, this.#countMax)
    return id
  }

  /** The answer of `engine_getPayload` of a version. Throws EngineError. */
  answer(version: number, id: Uint8Array): Json {
    const build = this.#builds.get(bytesToHex(id))
    if (build === undefined)
      throw new EngineError('unknownPayload', `no block is built under ${bytesToHex(id)}`)
    const header = decodeHeader(build.made.diff.header)
    const fork = this.#schedule.forkOf(header)
    if (!isWithin(fork, payloadForks[version] as ForkRange))
      throw new EngineError(
        'unsupportedFork',
        `the payload is of ${fork}, which engine_getPayloadV${version} is not for`,
      )
    this.#finish(build)
    const { header: headerRlp, body, blockAccessList } = build.made.diff
    const payload = payloadJson(headerRlp, body, fork, blockAccessList)
    return version === 1 ? payload : answerJson(version, payload, build)
  }

  #finish(build: Build): void {
    const { arrivals } = this.#maker.waiting
    const isLate = build.arrivals !== arrivals && equalBytes(this.#store.head.hash, build.parentHash)
    if (!build.isFinal && isLate) build.made = this.#make(build.attributes)
    build.isFinal = true
  }

  #make(attributes: PayloadAttributes): MadeBlock {
    const { timestamp, prevRandao, feeRecipient, withdrawals, derived } = attributes
    const extraData = derived && derivedExtraData(derived, this.#schedule.config)
    const gasLimit = derived?.gasLimit ?? this.#gasLimitFor(attributes.targetGasLimit)
    const fields: Partial<Header> & Pick<Header, 'timestamp'> = {
      timestamp,
      mixHash: prevRandao,
      miner: feeRecipient,
      ...(attributes.parentBeaconBlockRoot && { parentBeaconBlockRoot: attributes.parentBeaconBlockRoot }),
      ...(attributes.slotNumber !== undefined && { slotNumber: attributes.slotNumber }),
      ...(gasLimit !== undefined && { gasLimit }),
      ...(extraData && { extraData }),
    }
    try {
      return this.#maker.build({
        fields,
        withdrawals: withdrawals ?? [],
        opening: derived && { transactions: derived.transactions, isAlone: derived.noTxPool },
        mayInclude: (tx, fork) => tx.blobCount === 0 || hasCellProofs(tx.raw) === includesFork(fork, 'osaka'),
      })
    } catch (error) {
      if (error instanceof OperatorError) throw new EngineError('invalidAttributes', error.message)
      throw error
    }
  }

  /** The gas limit nearest to the wanted one that may follow the parent's (yellow paper 4.4.4). */
  #gasLimitFor(target: bigint | undefined): bigint | undefined {
    if (target === undefined) return undefined
    const { gasLimit } = this.#maker.head
    const step = gasLimit / 1024n - 1n
    if (target > gasLimit) return target < gasLimit + step ? target : gasLimit + step
    return target > gasLimit - step ? target : gasLimit - step
  }
}

/** Wei that the fee recipient gets for the transactions that waited. */
function valueInWei({ diff, sent }: MadeBlock): bigint {
  const { baseFeePerGas = 0n } = decodeHeader(diff.header)
  const used = gasUsedByEach(diff)
  const first = used.length - sent.length
  return sent.reduce(
    (sum, tx, index) => sum + tipOf(tx, baseFeePerGas) * BigInt(used[first + index] ?? 0),
    0n,
  )
}

function answerJson(version: number, executionPayload: Json, { made, attributes }: Build): Json {
  const { requests, sent } = made
  const { parentBeaconBlockRoot: root, derived } = attributes
  return {
    executionPayload,
    blockValue: toQuantity(valueInWei(made)),
    ...(version > 2 && {
      blobsBundle: bundleJson(sent.flatMap(sidecarsOf)),
      shouldOverrideBuilder: false,
      // op-node gives the payload back with it.
      ...(derived && root && { parentBeaconBlockRoot: bytesToHex(root) }),
    }),
    ...(version > 3 && { executionRequests: (requests ?? []).map(bytesToHex) }),
  }
}

function bundleJson(sidecars: readonly BlobSidecar[]): Json {
  return {
    commitments: sidecars.map(({ commitment }) => bytesToHex(commitment)),
    proofs: sidecars.flatMap(({ proofs }) => proofs.map(bytesToHex)),
    blobs: sidecars.map(({ blob }) => bytesToHex(blob)),
  }
}
