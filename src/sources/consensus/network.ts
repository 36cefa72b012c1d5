/**
 * The light client protocol of Ethereum's consensus specifications, which verifies signatures of sync committees and
 * nothing else. Owns the forks of the consensus layer, the forms of light client messages, the check of signatures, and
 * the store of a light client. Does not own how its data are fetched. Does not use Node.js modules, so that browsers
 * can run it.
 *
 * Follows ethereum/consensus-specs: altair/light-client at commit d88eb99b, with the changes of Capella, Deneb and
 * Electra, and gloas/light-client/sync-protocol.md at commit 0f7109f8 (fork.md at 28a2d7dd).
 */

/** Forks that change light client messages, or the signed version, in order. */
export const consensusForkNames = [
  'genesis',
  'altair',
  'bellatrix',
  'capella',
  'deneb',
  'electra',
  'fulu',
  'gloas',
] as const
export type ConsensusForkName = (typeof consensusForkNames)[number]

export interface ConsensusFork {
  readonly name: ConsensusForkName
  /** First epoch. */
  readonly epoch: number
  /** 4 bytes. */
  readonly version: Uint8Array
}

/** Data of a network that a light client needs besides a checkpoint. */
export interface ConsensusNetwork {
  /** Seconds since 1970. */
  readonly genesisTime: number
  /** 32 bytes. */
  readonly genesisValidatorsRoot: Uint8Array
  /** In order, the first at epoch 0; unplanned forks are absent. */
  readonly forks: readonly ConsensusFork[]
}

/** The preset `mainnet`, which all public networks of Ethereum use. */
export const secondsPerSlot = 12
export const slotsPerEpoch = 32
export const epochsPerPeriod = 256
export const slotsPerPeriod = slotsPerEpoch * epochsPerPeriod
export const committeeSize = 512
/** Slots without finality after which the best update is taken as finalized: a period. */
export const updateTimeoutSlots = slotsPerPeriod
export const participantsMin = 1

/**
 * Oldest trusted checkpoint, in slots: 7 days. Validators of that time that have left since can sign another chain at
 * no cost. On mainnet, `compute_weak_subjectivity_period` gives 15.7 days since Electra, and 7.0 days with the faster
 * exits of Gloas (1,573 epochs with 36 million ETH at stake).
 */
export const weakSubjectivitySlots = (7 * 86_400) / secondsPerSlot

/** Generalized indices in the state and in the body of a block, before Electra. */
const indicesAltair = { finalizedRoot: 105, currentSyncCommittee: 54, nextSyncCommittee: 55 }
const indicesElectra = { finalizedRoot: 169, currentSyncCommittee: 86, nextSyncCommittee: 87 }
/** The state is a progressive container (EIP-7688). */
const indicesGloas = { finalizedRoot: 735, currentSyncCommittee: 2_945, nextSyncCommittee: 2_946 }

type StateIndices = typeof indicesAltair

/** Generalized index of the execution payload in the body of a block, from Capella up to Fulu. */
export const executionPayloadIndex = 25
/**
 * Generalized index of the hash of the execution block. In Gloas that is the parent of the payload that the block bids
 * for.
 */
const executionBlockHashIndices = { capella: 412, deneb: 812, gloas: 2_856 } as const

/** Number of hashes in a branch to a generalized index. */
export function branchDepth(gindex: number): number {
  return Math.floor(Math.log2(gindex))
}

/** Forms of the data: names of the forks that changed them. */
export const formNames = ['capella', 'deneb', 'electra', 'gloas'] as const
export type FormName = (typeof formNames)[number]

export const stateIndicesOf: Readonly<Record<FormName, StateIndices>> = {
  capella: indicesAltair,
  deneb: indicesAltair,
  electra: indicesElectra,
  gloas: indicesGloas,
}

function epochAt(slot: number): number {
  return Math.floor(slot / slotsPerEpoch)
}

/** Number of the sync committee that signs at a slot. */
export function periodAt(slot: number): number {
  return Math.floor(slot / slotsPerPeriod)
}

/** The slot at a time in ms since 1970. */
export function slotAt({ genesisTime }: ConsensusNetwork, ms: number): number {
  return Math.max(0, Math.floor((ms / 1_000 - genesisTime) / secondsPerSlot))
}

/** Time of a slot, in seconds since 1970. */
export function timeOf({ genesisTime }: ConsensusNetwork, slot: number): number {
  return genesisTime + slot * secondsPerSlot
}

export function forkAt({ forks }: ConsensusNetwork, slot: number): ConsensusFork {
  const epoch = epochAt(slot)
  return (forks.findLast((fork) => fork.epoch <= epoch) ?? forks[0]) as ConsensusFork
}

/** The form of data whose header has this slot; undefined before Capella. */
export function formAt(network: ConsensusNetwork, slot: number): FormName | undefined {
  const { name } = forkAt(network, slot)
  if (name === 'fulu') return 'electra'
  return formNames.find((form) => form === name)
}

/** Generalized index of the hash of the execution block in a body of this slot; undefined before Capella. */
export function executionIndexAt(network: ConsensusNetwork, slot: number): number | undefined {
  const form = formAt(network, slot)
  return form && executionBlockHashIndices[form === 'electra' ? 'deneb' : form]
}
