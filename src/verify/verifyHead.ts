import { SszError } from '../data/ssz/types.js'
import {
  readUpgradedBootstrap,
  readUpgradedOptimistic,
  readUpgradedUpdate,
} from '../sources/consensus/gloasForm.js'
import { knownConsensus } from '../sources/consensus/knownNetworks.js'
import { LightClient, LightClientError, staleness } from '../sources/consensus/lightClient.js'
import { type ConsensusNetwork, slotAt } from '../sources/consensus/network.js'
import { hexOf, readHex, refuse, VerifyError } from './bytes.js'

/** The trusted checkpoint, and the network of the signatures. */
export interface HeadOptions {
  /** Chain id of mainnet, Sepolia or Hoodi, or the consensus layer of another network. */
  readonly network: number | ConsensusNetwork
  /** Root of a finalized beacon block, 32 bytes, hex, from a source that the caller trusts. */
  readonly checkpoint: string
  /** Time in ms since 1970; default: the time of the clock. */
  readonly now?: number
}

/** A block that the sync committee signed. */
export interface SignedBlock {
  /** Hash of the execution block, for {@link verify}. */
  readonly blockHash: string
  readonly slot: number
  /** Number of the 512 members that signed it: two thirds or more. */
  readonly participants: number
}

/** Least number of signers: two thirds, because there is only this one signature. */
const participantsMin = 342
/** Updates of periods of 27 hours between the checkpoint and now: a week has seven. */
const updatesMax = 16

/**
 * The newest block that validators signed, from the member `headProof` of an answer of `tidegate_getVerified`. Takes
 * some 0.1 s. Throws {@link VerifyError} with the reason.
 *
 * @example
 * const answer = await request('tidegate_getVerified', [method, params, checkpoint])
 * const { blockHash } = verifyHead(answer.headProof, { network: 1, checkpoint })
 * const result = verify(answer, { method, params, blockHash })
 */
export function verifyHead(proof: unknown, options: HeadOptions): SignedBlock {
  try {
    return readHead(proof, options)
  } catch (error) {
    if (error instanceof SszError || error instanceof LightClientError) throw new VerifyError(error.message)
    throw error
  }
}

function readHead(
  proof: unknown,
  { network: named, checkpoint, now = Date.now() }: HeadOptions,
): SignedBlock {
  const network = typeof named === 'number' ? knownConsensus(named) : named
  if (network === undefined) return refuse(`the consensus layer of chain ${named} is not known`)
  if (typeof proof !== 'object' || proof === null) return refuse('there is no proof of the head')
  const { bootstrap, updates, update } = proof as Readonly<Record<string, unknown>>
  if (!Array.isArray(updates) || updates.length > updatesMax)
    return refuse('updates is no list of at most 16')
  const slot = slotAt(network, now)
  const root = readHex(checkpoint.toLowerCase(), 'the checkpoint', 32)
  const client = new LightClient(network, readUpgradedBootstrap(readHex(bootstrap, 'bootstrap')), root)
  const why = staleness(client.finalized.header.beacon.slot, slot)
  if (why !== undefined) refuse(why)
  for (const [index, each] of updates.entries()) {
    client.process(readUpgradedUpdate(readHex(each, `updates[${index}]`)), slot)
  }
  const newest = readUpgradedOptimistic(readHex(update, 'update'))
  client.process(newest, slot)
  const { header, participants } = client.optimistic
  if (header !== newest.attestedHeader || participants < participantsMin) {
    refuse(`the head is signed by fewer than ${participantsMin} of 512`)
  }
  return { blockHash: hexOf(header.executionBlockHash), slot: header.beacon.slot, participants }
}
