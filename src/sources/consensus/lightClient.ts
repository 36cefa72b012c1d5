import { branchRoot, byteVector, container, SszError } from '../../data/ssz/types.js'
import {
  type BeaconBlockHeader,
  beaconBlockHeader,
  isEmpty,
  isZero,
  type LightClientBootstrap,
  type LightClientHeader,
  type LightClientUpdate,
} from './gloasForm.js'
import {
  branchDepth,
  type ConsensusNetwork,
  committeeSize,
  executionIndexAt,
  forkAt,
  formAt,
  participantsMin,
  periodAt,
  secondsPerSlot,
  stateIndicesOf,
  updateTimeoutSlots,
  weakSubjectivitySlots,
} from './network.js'
import { participantsOf, type SyncCommittee } from './syncCommittee.js'

/**
 * Why data are refused. A node that sent `invalid` data lied. Data that are `unusable` may be right, but of another
 * time than this light client's.
 */
export class LightClientError extends Error {
  override readonly name = 'LightClientError'
  constructor(
    readonly kind: 'invalid' | 'unusable',
    message: string,
  ) {
    super(message)
  }
}

const signingData = container({ objectRoot: byteVector(32), domain: byteVector(32) })
const forkData = container({ currentVersion: byteVector(4), genesisValidatorsRoot: byteVector(32) })
/** `DOMAIN_SYNC_COMMITTEE`. */
const domainType = Uint8Array.of(7, 0, 0, 0)

function invalid(message: string): never {
  throw new LightClientError('invalid', message)
}

function unusable(message: string): never {
  throw new LightClientError('unusable', message)
}

/** A header that the committee signed, and the number of signers. */
export interface SignedHeader {
  readonly header: LightClientHeader
  readonly participants: number
}

/**
 * A light client's store and its rules (`LightClientStore`, altair/light-client/sync-protocol.md). Its headers were
 * signed by committees that follow from a checkpoint.
 */
export class LightClient {
  /** May be replaced when a later fork becomes known. */
  network: ConsensusNetwork
  #finalized: SignedHeader
  #optimistic: SignedHeader
  #current: SyncCommittee
  #next: SyncCommittee | undefined
  #best: LightClientUpdate | undefined
  #isForced = false
  #participantsMaxBefore = 0
  #participantsMax = 0

  /**
   * `initialize_light_client_store`: begins at the block with the root `checkpoint`, 32 bytes. Throws
   * {@link LightClientError} if the bootstrap is of another block.
   */
  constructor(network: ConsensusNetwork, bootstrap: LightClientBootstrap, checkpoint: Uint8Array) {
    const { header, committee, committeeBranch } = bootstrap
    this.network = network
    requireHeader(network, header, 'the header')
    if (!equal(beaconBlockHeader.root(header.beacon), checkpoint))
      invalid('it is of another block than the checkpoint')
    const { currentSyncCommittee } = indicesAt(network, header.beacon)
    if (!isBranch(committee.root, committeeBranch, currentSyncCommittee, header.beacon.stateRoot)) {
      invalid('the sync committee is not that of the checkpoint')
    }
    // The checkpoint is trusted, so it needs no signature.
    this.#finalized = { header, participants: 0 }
    this.#optimistic = this.#finalized
    this.#current = committee
  }

  get finalized(): SignedHeader {
    return this.#finalized
  }

  /** The newest header that enough validators signed. */
  get optimistic(): SignedHeader {
    return this.#optimistic
  }

  /** Whether the finalized header comes from {@link forceUpdate} and is not final on the chain. */
  get isFinalityForced(): boolean {
    return this.#isForced
  }

  get isNextCommitteeKnown(): boolean {
    return this.#next !== undefined
  }

  get #period(): number {
    return periodAt(this.#finalized.header.beacon.slot)
  }

  /**
   * `process_light_client_update`, and those of finality and optimistic updates. `currentSlot` is that of the clock.
   * Throws {@link LightClientError}; the store is then unchanged.
   */
  process(update: LightClientUpdate, currentSlot: number): void {
    this.#validate(update, currentSlot)
    const participants = participantsOf(update.syncAggregate.syncCommitteeBits).length
    if (this.#best === undefined || isBetterUpdate(update, this.#best)) this.#best = update
    this.#participantsMax = Math.max(this.#participantsMax, participants)
    const threshold = Math.floor(Math.max(this.#participantsMaxBefore, this.#participantsMax) / 2)
    const { attestedHeader: header, finality, next } = update
    const { slot } = header.beacon
    // A minority never moves the head, not even the first one after the checkpoint. The specification would permit
    // that.
    const isEnough = participants > threshold && 2 * participants > committeeSize
    if (isEnough && slot > this.#optimistic.header.beacon.slot) {
      this.#optimistic = { header, participants }
    }
    if (participants * 3 < committeeSize * 2 || finality === undefined) return
    const finalizedSlot = finality.header.beacon.slot
    const isNextFinal =
      this.#next === undefined && next !== undefined && periodAt(finalizedSlot) === periodAt(slot)
    if (finalizedSlot > this.#finalized.header.beacon.slot || isNextFinal) {
      this.#apply(update, { header: finality.header, participants })
      this.#isForced = false
      this.#best = undefined
    }
  }

  /**
   * `process_light_client_store_force_update`: if nothing was finalized for a period, takes the best update since as
   * finalized, if a majority signed it. Returns whether it did.
   */
  forceUpdate(currentSlot: number): boolean {
    const { slot } = this.#finalized.header.beacon
    const best = this.#best
    if (best === undefined || currentSlot <= slot + updateTimeoutSlots) return false
    const participants = participantsOf(best.syncAggregate.syncCommitteeBits).length
    if (2 * participants <= committeeSize) return false
    const isFinal = best.finality !== undefined && best.finality.header.beacon.slot > slot
    const header = isFinal ? (best.finality?.header as LightClientHeader) : best.attestedHeader
    // An update of another period does not prove the missing next committee.
    if (
      this.#next === undefined &&
      (best.next === undefined || periodAt(header.beacon.slot) !== this.#period)
    ) {
      return false
    }
    this.#apply(best, { header, participants })
    this.#isForced = !isFinal
    this.#best = undefined
    return true
  }

  /** `apply_light_client_update`. */
  #apply({ next }: LightClientUpdate, finalized: SignedHeader): void {
    const { slot } = finalized.header.beacon
    if (this.#next === undefined) {
      if (periodAt(slot) !== this.#period) unusable('the update is of another period than its committee')
      this.#next = next?.committee
    } else if (periodAt(slot) === this.#period + 1) {
      this.#current = this.#next
      this.#next = next?.committee
      this.#participantsMaxBefore = this.#participantsMax
      this.#participantsMax = 0
    }
    if (slot <= this.#finalized.header.beacon.slot) return
    this.#finalized = finalized
    if (slot > this.#optimistic.header.beacon.slot) this.#optimistic = finalized
  }

  /** `validate_light_client_update`. */
  #validate(update: LightClientUpdate, currentSlot: number): void {
    const { attestedHeader, syncAggregate, signatureSlot, next, finality } = update
    const attested = attestedHeader.beacon
    const finalizedSlot = finality?.header.beacon.slot ?? 0
    if (participantsOf(syncAggregate.syncCommitteeBits).length < participantsMin)
      invalid('nobody signed the update')
    requireHeader(this.network, attestedHeader, 'the attested header')
    if (signatureSlot <= attested.slot || attested.slot < finalizedSlot) {
      invalid(
        `the update was signed at slot ${signatureSlot}, is of slot ${attested.slot}, and finalizes ${finalizedSlot}`,
      )
    }
    if (signatureSlot > currentSlot) {
      unusable(
        `the update was signed at slot ${signatureSlot}, and the clock of this machine says ${currentSlot}`,
      )
    }
    const period = this.#period
    const signaturePeriod = periodAt(signatureSlot)
    if (signaturePeriod !== period && !(this.#next !== undefined && signaturePeriod === period + 1)) {
      unusable(
        `the update was signed by the sync committee of period ${signaturePeriod}, and that of ${this.#next === undefined ? period : period + 1} is the last that is known`,
      )
    }
    const isOfPeriod = periodAt(attested.slot) === period
    const bringsNext = this.#next === undefined && next !== undefined && isOfPeriod
    if (attested.slot <= this.#finalized.header.beacon.slot && !bringsNext) {
      unusable(
        `the update is of slot ${attested.slot}, and slot ${this.#finalized.header.beacon.slot} is final`,
      )
    }
    const indices = indicesAt(this.network, attested)
    if (finality !== undefined) {
      const { header, branch } = finality
      if (finalizedSlot === 0) {
        if (!isEmpty(header)) invalid('the finalized header is of genesis, and not empty')
      } else requireHeader(this.network, header, 'the finalized header')
      const root = finalizedSlot === 0 ? new Uint8Array(32) : beaconBlockHeader.root(header.beacon)
      if (!isBranch(root, branch, indices.finalizedRoot, attested.stateRoot)) {
        invalid('the attested state has another finalized block')
      }
    }
    if (next !== undefined) {
      if (isOfPeriod && this.#next !== undefined && !equal(next.committee.root, this.#next.root)) {
        invalid('the next sync committee is another than the one that is known')
      }
      if (!isBranch(next.committee.root, next.branch, indices.nextSyncCommittee, attested.stateRoot)) {
        invalid('the attested state has another next sync committee')
      }
    }
    const committee = signaturePeriod === period ? this.#current : (this.#next as SyncCommittee)
    const message = signingRootOf(this.network, attested, signatureSlot)
    if (!committee.verify(syncAggregate.syncCommitteeBits, message, syncAggregate.syncCommitteeSignature)) {
      invalid(`the signature of slot ${attested.slot} is not that of its sync committee`)
    }
  }
}

/** The message that a committee signs: the root of a header, for the fork of the slot before the signature's. */
export function signingRootOf(
  network: ConsensusNetwork,
  header: BeaconBlockHeader,
  signatureSlot: number,
): Uint8Array {
  const { version } = forkAt(network, Math.max(signatureSlot, 1) - 1)
  const root = forkData.root({
    currentVersion: version,
    genesisValidatorsRoot: network.genesisValidatorsRoot,
  })
  const domain = new Uint8Array(32)
  domain.set(domainType)
  domain.set(root.subarray(0, 28), 4)
  return signingData.root({ objectRoot: beaconBlockHeader.root(header), domain })
}

/** `is_valid_light_client_header`. */
function requireHeader(network: ConsensusNetwork, header: LightClientHeader, what: string): void {
  const { beacon, executionBlockHash, executionBranch } = header
  const gindex = executionIndexAt(network, beacon.slot)
  const isValid =
    gindex === undefined
      ? isZero(executionBlockHash) && executionBranch.every(isZero)
      : isBranch(executionBlockHash, executionBranch, gindex, beacon.bodyRoot)
  if (!isValid) invalid(`${what} of slot ${beacon.slot} does not have the execution block that it names`)
}

function indicesAt(network: ConsensusNetwork, { slot }: BeaconBlockHeader) {
  return stateIndicesOf[formAt(network, slot) ?? 'capella']
}

/** `is_valid_normalized_merkle_branch`. */
function isBranch(
  leaf: Uint8Array,
  branch: readonly Uint8Array[],
  gindex: number,
  root: Uint8Array,
): boolean {
  const extra = branch.length - branchDepth(gindex)
  if (extra < 0 || !branch.slice(0, extra).every(isZero)) return false
  return equal(branchRoot(leaf, branch.slice(extra), gindex), root)
}

function equal(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at])
}

/** Whether an error means that the data, or their encoding, are wrong. */
export function isInvalid(error: unknown): error is Error {
  return error instanceof SszError || (error instanceof LightClientError && error.kind === 'invalid')
}

/** Why a block is too old to be a checkpoint, for the operator; undefined if it is not. */
export function staleness(slot: number, currentSlot: number): string | undefined {
  const days = ((currentSlot - slot) * secondsPerSlot) / 86_400
  if (currentSlot - slot <= weakSubjectivitySlots) return undefined
  return `the checkpoint is of slot ${slot}, ${days.toFixed(1)} days ago, and one of more than ${(weakSubjectivitySlots * secondsPerSlot) / 86_400} days could be of a chain that validators made who have left since; take a newer one from a source that you trust (--checkpoint)`
}

/** Ranks of an update, the weightiest first; higher is better. */
function ranksOf({
  attestedHeader,
  syncAggregate,
  signatureSlot,
  next,
  finality,
}: LightClientUpdate): number[] {
  const participants = participantsOf(syncAggregate.syncCommitteeBits).length
  const isMajority = participants * 3 >= committeeSize * 2
  const { slot } = attestedHeader.beacon
  const isRelevant = next !== undefined && periodAt(slot) === periodAt(signatureSlot)
  const isFinalInPeriod = finality !== undefined && periodAt(finality.header.beacon.slot) === periodAt(slot)
  return [
    Number(isMajority),
    isMajority ? 0 : participants,
    Number(isRelevant),
    Number(finality !== undefined),
    Number(isFinalInPeriod),
    participants,
    // Older data are preferred, so that the best one seldom changes.
    -slot,
    -signatureSlot,
  ]
}

/** `is_better_update`: whether an update is preferred to an earlier one. */
function isBetterUpdate(update: LightClientUpdate, before: LightClientUpdate): boolean {
  const mine = ranksOf(update)
  const others = ranksOf(before)
  const differing = mine.findIndex((rank, at) => rank !== others[at])
  return differing >= 0 && (mine[differing] as number) > (others[differing] as number)
}
