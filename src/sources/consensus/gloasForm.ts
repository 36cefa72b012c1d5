/**
 * Light client messages in the form of Gloas. All data are upgraded to it before they are checked
 * (gloas/light-client/fork.md). Branches of earlier forks begin with zeros in it.
 */
import { byteVector, container, integer, SszError, type SszType, uint, vector } from '../../data/ssz/types.js'
import { branchDepth, committeeSize, stateIndicesOf } from './network.js'
import { SyncCommittee } from './syncCommittee.js'

export const bytes32: SszType<Uint8Array> = byteVector(32)

export const beaconBlockHeader = container({
  slot: integer,
  proposerIndex: uint(8),
  parentRoot: bytes32,
  stateRoot: bytes32,
  bodyRoot: bytes32,
})
export type BeaconBlockHeader = ReturnType<typeof beaconBlockHeader.read>

export const syncCommittee = container({
  pubkeys: vector(byteVector(48), committeeSize),
  aggregatePubkey: byteVector(48),
})

/** Number of hashes in the branch of an execution block's hash. */
export const executionBranchLength = 11
export const headerGloas = container({
  beacon: beaconBlockHeader,
  executionBlockHash: bytes32,
  executionBranch: vector(bytes32, executionBranchLength),
})
export type LightClientHeader = ReturnType<typeof headerGloas.read>

export const syncAggregate = container({
  syncCommitteeBits: byteVector(committeeSize / 8),
  syncCommitteeSignature: byteVector(96),
})
export type SyncAggregate = ReturnType<typeof syncAggregate.read>

/** `LightClientUpdate`; finality and optimistic updates lack some members. */
export interface LightClientUpdate {
  readonly attestedHeader: LightClientHeader
  readonly syncAggregate: SyncAggregate
  readonly signatureSlot: number
  /** Undefined if the update has none. */
  readonly next?: { readonly committee: SyncCommittee; readonly branch: readonly Uint8Array[] } | undefined
  /** Undefined if the update has none. At slot 0 the header is empty: nothing is finalized. */
  readonly finality?:
    | { readonly header: LightClientHeader; readonly branch: readonly Uint8Array[] }
    | undefined
}

export interface LightClientBootstrap {
  readonly header: LightClientHeader
  readonly committee: SyncCommittee
  readonly committeeBranch: readonly Uint8Array[]
}

const { finalizedRoot, currentSyncCommittee, nextSyncCommittee } = stateIndicesOf.gloas
const branchTo = (gindex: number) => vector(bytes32, branchDepth(gindex))

const bootstrapType = container({
  header: headerGloas,
  committee: syncCommittee,
  committeeBranch: branchTo(currentSyncCommittee),
})
const updateType = container({
  attestedHeader: headerGloas,
  nextCommittee: syncCommittee,
  nextBranch: branchTo(nextSyncCommittee),
  finalizedHeader: headerGloas,
  finalityBranch: branchTo(finalizedRoot),
  syncAggregate,
  signatureSlot: integer,
})
const optimisticType = container({ attestedHeader: headerGloas, syncAggregate, signatureSlot: integer })

/** `LightClientBootstrap` of Gloas, SSZ. */
export function writeBootstrap({ header, committee, committeeBranch }: LightClientBootstrap): Uint8Array {
  return bootstrapType.write({
    header,
    committee,
    committeeBranch: padded(committeeBranch, currentSyncCommittee),
  })
}

/** The inverse of {@link writeBootstrap}. Throws {@link SszError}. */
export function readUpgradedBootstrap(bytes: Uint8Array): LightClientBootstrap {
  const { header, committee, committeeBranch } = bootstrapType.read(bytes)
  return { header, committee: committeeOf(committee), committeeBranch }
}

/** `LightClientUpdate` of Gloas, SSZ, with a next committee and a finalized header. */
export function writeUpdate({ next, finality, ...rest }: Required<LightClientUpdate>): Uint8Array {
  if (next === undefined || finality === undefined) throw new Error('the update is of another kind')
  const { pubkeys, aggregatePubkey } = next.committee
  return updateType.write({
    ...rest,
    nextCommittee: { pubkeys, aggregatePubkey },
    nextBranch: padded(next.branch, nextSyncCommittee),
    finalizedHeader: finality.header,
    finalityBranch: padded(finality.branch, finalizedRoot),
  })
}

/** The inverse of {@link writeUpdate}. Throws {@link SszError}. */
export function readUpgradedUpdate(bytes: Uint8Array): LightClientUpdate {
  const { nextCommittee, nextBranch, finalizedHeader, finalityBranch, ...rest } = updateType.read(bytes)
  if (nextBranch.every(isZero) || finalityBranch.every(isZero))
    throw new SszError('an update without a branch')
  return {
    ...rest,
    next: { committee: committeeOf(nextCommittee), branch: nextBranch },
    finality: { header: finalizedHeader, branch: finalityBranch },
  }
}

/** `LightClientOptimisticUpdate` of Gloas, SSZ. */
export function writeOptimistic(update: LightClientUpdate): Uint8Array {
  return optimisticType.write(update)
}

/** The inverse of {@link writeOptimistic}. Throws {@link SszError}. */
export function readUpgradedOptimistic(bytes: Uint8Array): LightClientUpdate {
  return optimisticType.read(bytes)
}

export function committeeOf(value: ReturnType<typeof syncCommittee.read>): SyncCommittee {
  return new SyncCommittee(value.pubkeys, value.aggregatePubkey, syncCommittee.root(value))
}

/** Pads a branch to the length of Gloas. */
function padded(branch: readonly Uint8Array[], gindex: number): Uint8Array[] {
  const missing = branchDepth(gindex) - branch.length
  return [...Array.from({ length: missing }, () => new Uint8Array(32)), ...branch]
}

export function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0)
}

/** Whether a value is the default of its type. */
export function isEmpty(value: unknown): boolean {
  if (value instanceof Uint8Array) return isZero(value)
  if (typeof value !== 'object' || value === null) return value === 0 || value === 0n
  return Object.values(value).every(isEmpty)
}
