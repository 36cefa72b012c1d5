/** Stand-ins for the states of a beacon chain: a checkpoint whose sync committee is any, with branches of zeros. */

import { branchRoot } from '../../src/data/ssz/types.js'
import { beaconBlockHeader, type LightClientBootstrap } from '../../src/sources/consensus/gloasForm.js'
import {
  branchDepth,
  type ConsensusNetwork,
  executionIndexAt,
  formAt,
  stateIndicesOf,
} from '../../src/sources/consensus/network.js'
import type { SyncCommittee } from '../../src/sources/consensus/syncCommittee.js'

export const zeros = (length: number): Uint8Array[] => Array.from({ length }, () => new Uint8Array(32))

/** A checkpoint at `slot` with this committee, and its root. */
export function checkpointOf(
  network: ConsensusNetwork,
  slot: number,
  committee: SyncCommittee,
): { readonly bootstrap: LightClientBootstrap; readonly root: Uint8Array } {
  const { currentSyncCommittee } = stateIndicesOf[formAt(network, slot) ?? 'capella']
  const committeeBranch = zeros(branchDepth(currentSyncCommittee))
  const executionIndex = executionIndexAt(network, slot) as number
  const executionBlockHash = new Uint8Array(32).fill(7)
  const inner = zeros(branchDepth(executionIndex))
  const beacon = {
    slot,
    proposerIndex: 1n,
    parentRoot: new Uint8Array(32),
    stateRoot: branchRoot(committee.root, committeeBranch, currentSyncCommittee),
    bodyRoot: branchRoot(executionBlockHash, inner, executionIndex),
  }
  const header = { beacon, executionBlockHash, executionBranch: zeros(11) }
  return { bootstrap: { header, committee, committeeBranch }, root: beaconBlockHeader.root(beacon) }
}
