/**
 * The head that sync committees of the consensus layer have signed. Owns a light client, which begins at a checkpoint
 * that the operator trusts, and asks beacon nodes for everything else. Reports to the upstreams which of their blocks
 * are signed.
 */

import { parseGenesisConfig } from '../../../data/chain/forks.js'
import type { BlockName, ChainIdentity, SignedCheckpoint } from '../../../data/store/chainRows.js'
import { bytesToHex, equalBytes, type Hash32, hexToBytes, toHash32 } from '../../../primitives/bytes.js'
import { pause } from '../../../primitives/deferred.js'
import { OperatorError } from '../../../primitives/faults.js'
import { beaconBlockHeader, isZero, type LightClientUpdate } from '../../consensus/gloasForm.js'
import { knownConsensus } from '../../consensus/knownNetworks.js'
import {
  isInvalid,
  LightClient,
  LightClientError,
  type SignedHeader,
  staleness,
} from '../../consensus/lightClient.js'
import {
  type ConsensusNetwork,
  periodAt,
  secondsPerSlot,
  slotAt,
  slotsPerEpoch,
  timeOf,
} from '../../consensus/network.js'
import { BeaconNodes } from '../../upstream/beaconNodes.js'
import type { HeadClaim } from '../../upstream/headWatch.js'
import type { UpstreamFigures } from '../../upstream/upstreams.js'
import type { BlockLink } from '../blocks/block.js'
import type { BeaconPlan, SignedState } from '../thread/messages.js'
import { BeaconApi } from './beaconApi.js'
import { HeadProofs } from './headProofs.js'

/** Updates per request: some 26 KB each. */
const updatesMax = 8
/** Turns between two requests for the finalized block, which moves once in 6.4 minutes. */
const finalityTurns = 4
/** Wait before the next request for the next committee, while nothing is finalized in the current period. */
const committeeRetryMs = 60_000
/** Time between two requests for the start of Gloas, while it is not known. */
const forksMs = 3_600_000
/** Wait before the next request for a signed block that no upstream has yet. */
const blockRetryMs = 500
/** How long no block may be signed before that is reported: 25 slots. Single slots without a block are usual. */
const silenceMs = 300_000

export interface SignedHeadOptions {
  /** Identity of the execution layer's chain. Its fork Amsterdam begins with Gloas. */
  readonly identity: Pick<ChainIdentity, 'chainId' | 'config'>
  readonly stored: SignedCheckpoint | undefined
  /** Number, parent and hash of a block, proved by its hash; undefined if no upstream has it. */
  readonly locate: (hash: Hash32) => Promise<BlockLink | undefined>
  /** Called with the newest signed block, and again when another one is finalized. */
  readonly onHead: (claim: HeadClaim) => void
  /** Called with sentences for the operator. */
  readonly log: (text: string) => void
}

/** A signed beacon block, by its root, and its execution block. */
interface FoundBlock {
  readonly root: Uint8Array
  readonly link: BlockLink
}

export class SignedHead {
  readonly #plan: BeaconPlan
  readonly #options: SignedHeadOptions
  readonly #nodes: BeaconNodes
  readonly #api: BeaconApi
  readonly #proofs: HeadProofs
  readonly #anchor: Uint8Array
  #network: ConsensusNetwork | undefined
  #client: LightClient | undefined
  #turn = 0
  /** Earliest times of the next requests. */
  #forksAt = 0
  #committeeAt = 0
  #head: FoundBlock | undefined
  #final: FoundBlock | undefined
  #signedAt = performance.now()
  /** Why the last update was unusable. */
  #unusable: string | undefined
  #trouble: string | undefined
  #reported = ''

  /** Throws OperatorError if there is no checkpoint to begin at. */
  constructor(plan: BeaconPlan, options: SignedHeadOptions) {
    const { stored } = options
    const given = plan.checkpoint === undefined ? undefined : hexToBytes(plan.checkpoint)
    const anchor = given ?? stored?.anchor
    if (anchor === undefined) {
      throw new OperatorError(
        'a light client begins at a checkpoint that you trust: the root of a beacon block that is final; name it with --checkpoint ROOT (docs/gateway.md says where to get one)',
      )
    }
    this.#plan = plan
    this.#options = options
    this.#anchor = anchor
    this.#nodes = new BeaconNodes(plan.nodes, { isLie: isInvalid, log: options.log })
    this.#api = new BeaconApi(this.#nodes)
    this.#proofs = new HeadProofs(this.#api)
  }

  /** The newest finalized and signed block, once an upstream has it. */
  get finalized(): BlockName | undefined {
    return this.#final?.link
  }

  /** The checkpoint of the next start; undefined before anything is finalized. */
  get checkpoint(): SignedCheckpoint | undefined {
    const client = this.#client
    if (client === undefined || client.isFinalityForced) return undefined
    const { beacon } = client.finalized.header
    return { root: beaconBlockHeader.root(beacon), slot: beacon.slot, anchor: this.#anchor }
  }

  /** The state of the signed head; without members of the light client before the checkpoint is loaded. */
  get state(): SignedState {
    const client = this.#client
    return {
      nodes: this.#nodes.states(),
      ...(client && {
        slot: client.optimistic.header.beacon.slot,
        participants: client.optimistic.participants,
        finalizedSlot: client.finalized.header.beacon.slot,
        time: timeOf(client.network, client.optimistic.header.beacon.slot),
      }),
    }
  }

  /** Figures of the beacon nodes. */
  figures(): UpstreamFigures[] {
    return this.#nodes.figures()
  }

  /** Why the signed head does not move, as a sentence. */
  get trouble(): string | undefined {
    if (this.#trouble !== undefined) return this.#trouble
    if (performance.now() - this.#signedAt < silenceMs) return undefined
    const why = this.#unusable === undefined ? '' : ` (${this.#unusable})`
    return `no beacon node has an update that was signed in the last ${silenceMs / 60_000} minutes${why}`
  }

  /** Runs until the signal is aborted. Rejects with OperatorError for a cause that the operator must remove. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let waitMs = this.#plan.pollMs
      try {
        await this.#takeTurn()
        if (!(await this.#reportHead())) waitMs = Math.min(waitMs, blockRetryMs)
      } catch (error) {
        if (error instanceof OperatorError && !signal.aborted) throw error
        this.#complain((error as Error).message)
      }
      await pause(waitMs, signal)
    }
  }

  /** See {@link HeadProofs.prove}. */
  async prove(checkpoint: string, blockHash: string): Promise<string | undefined> {
    const network = this.#client?.network
    return network && this.#proofs.prove(network, checkpoint, blockHash, this.#slotNow(network))
  }

  close(): void {
    this.#nodes.close()
  }

  async #takeTurn(): Promise<void> {
    this.#network ??= await this.#learnNetwork()
    await this.#learnGloas()
    this.#client ??= await this.#begin(this.#network)
    const client = this.#client
    const slot = this.#slotNow(client.network)
    requireFresh(client, slot)
    await this.#syncCommittees(client, slot)
    await this.#takeLatest(client, 'optimisticUpdate')
    if (this.#turn++ % finalityTurns === 0) await this.#takeLatest(client, 'finalityUpdate')
    if (client.forceUpdate(slot)) {
      const { participants, header } = client.finalized
      this.#options.log(
        `nothing was final for a day; the block of slot ${header.beacon.slot}, which ${participants} of 512 signed, is gone on from`,
      )
    }
    this.#trouble = undefined
    this.#reported = ''
  }

  #slotNow(network: ConsensusNetwork): number {
    return slotAt(network, Date.now())
  }

  async #learnNetwork(): Promise<ConsensusNetwork> {
    const { identity, log } = this.#options
    const { network } = this.#plan
    if (network !== undefined) {
      const forks = network.forks.map((fork) => ({ ...fork, version: hexToBytes(fork.version) }))
      return { ...network, forks, genesisValidatorsRoot: hexToBytes(network.genesisValidatorsRoot) }
    }
    const chainId = Number(identity.chainId)
    const known = knownConsensus(chainId)
    if (known !== undefined) {
      const amsterdamTime = parseGenesisConfig(JSON.parse(identity.config)).times.get('amsterdam')
      if (amsterdamTime === undefined) return known
      const epoch = Math.floor((amsterdamTime - known.genesisTime) / (secondsPerSlot * slotsPerEpoch))
      return knownConsensus(chainId, epoch) as ConsensusNetwork
    }
    const genesis = await this.#api.genesis()
    const forks = await this.#api.forks()
    if (genesis === undefined || forks === undefined) {
      throw new Error('no beacon node reports the genesis and the forks of this network')
    }
    log(
      'the genesis and the forks of the consensus layer come from a beacon node, and only the checkpoint binds them; to use your own, name them in the configuration (beacon.network)',
    )
    return { ...genesis, forks }
  }

  /** Asks a beacon node when Gloas begins, if that is not known. A false answer makes signatures fail. */
  async #learnGloas(): Promise<void> {
    const network = this.#network as ConsensusNetwork
    const isKnown = this.#plan.network !== undefined || network.forks.some(({ name }) => name === 'gloas')
    if (isKnown || performance.now() < this.#forksAt) return
    this.#forksAt = performance.now() + forksMs
    const forks = await this.#api.forks().catch(() => undefined)
    const reported = forks?.find(({ name }) => name === 'gloas')
    const extended = reported && knownConsensus(Number(this.#options.identity.chainId), reported.epoch)
    if (extended === undefined) return
    this.#network = extended
    if (this.#client !== undefined) this.#client.network = extended
  }

  async #begin(network: ConsensusNetwork): Promise<LightClient> {
    const { stored } = this.#options
    const slot = this.#slotNow(network)
    const isStored = stored !== undefined && equalBytes(stored.anchor, this.#anchor)
    if (isStored) {
      const why = staleness(stored.slot, slot)
      if (why !== undefined) throw new OperatorError(why)
    }
    const roots = isStored ? [stored.root, this.#anchor] : [this.#anchor]
    for (const root of roots) {
      const client = await this.#api.bootstrap(network, root, (bootstrap) => {
        return new LightClient(network, bootstrap, root)
      })
      if (client === undefined) continue
      requireFresh(client, slot)
      return client
    }
    throw new Error(
      `no beacon node has a bootstrap for the checkpoint ${bytesToHex(this.#anchor)}; nodes keep them for final blocks at the beginning of an epoch`,
    )
  }

  /** Takes the updates of the periods up to now; each contains the committee of the next period. */
  async #syncCommittees(client: LightClient, slot: number): Promise<void> {
    const current = periodAt(slot)
    for (;;) {
      const period = periodAt(client.finalized.header.beacon.slot)
      const first = client.isNextCommitteeKnown ? period + 1 : period
      if (first >= current && (client.isNextCommitteeKnown || performance.now() < this.#committeeAt)) return
      if (first >= current) this.#committeeAt = performance.now() + committeeRetryMs
      const count = Math.min(updatesMax, Math.max(1, current - first))
      const hasMoved = await this.#api.updates(client.network, { first, count }, (updates) => {
        const moved = updates.map((update) => this.#take(client, update))
        return moved.includes(true) || undefined
      })
      if (hasMoved === undefined) return
    }
  }

  /** A node whose newest update is known already may be behind, so the next one is asked, too. */
  async #takeLatest(client: LightClient, kind: 'optimisticUpdate' | 'finalityUpdate'): Promise<void> {
    await this.#api.latest(client.network, kind, (update) => {
      const { attestedHeader, finality } = update
      // Only updates with news are verified, which takes 50 ms.
      const isNews =
        attestedHeader.beacon.slot > client.optimistic.header.beacon.slot ||
        (finality?.header.beacon.slot ?? 0) > client.finalized.header.beacon.slot
      return (isNews && this.#take(client, update)) || undefined
    })
  }

  /** Returns whether the update moved the light client. Throws if it is invalid. */
  #take(client: LightClient, update: LightClientUpdate): boolean {
    const placeOf = () =>
      `${client.finalized.header.beacon.slot} ${client.optimistic.header.beacon.slot} ${client.isNextCommitteeKnown}`
    const before = placeOf()
    try {
      client.process(update, this.#slotNow(client.network))
    } catch (error) {
      if (!(error instanceof LightClientError) || error.kind !== 'unusable') throw error
      this.#unusable = error.message
    }
    const hasMoved = placeOf() !== before
    if (hasMoved) this.#signedAt = performance.now()
    if (client.optimistic.header === update.attestedHeader) this.#proofs.add(update)
    return hasMoved
  }

  /** Reports newly signed or finalized blocks. Returns whether an upstream has all of them. */
  async #reportHead(): Promise<boolean> {
    const client = this.#client
    if (client === undefined) return true
    const { finalized, optimistic, isFinalityForced } = client
    let isComplete = true
    const read = async ({ header }: SignedHeader, before: FoundBlock | undefined) => {
      const root = beaconBlockHeader.root(header.beacon)
      if (before !== undefined && equalBytes(before.root, root)) return before
      const link = await this.#locate(header.executionBlockHash)
      isComplete &&= link !== undefined
      return link === undefined ? before : { root, link }
    }
    const final = isFinalityForced ? this.#final : await read(finalized, this.#final)
    const head = await read(optimistic, this.#head)
    const isNew = head !== this.#head || final !== this.#final
    this.#head = head
    this.#final = final
    if (isNew && head !== undefined) {
      const { number, hash, parentHash } = head.link
      this.#options.onHead({ number, hash: bytesToHex(hash), parentHash: bytesToHex(parentHash) })
    }
    return isComplete
  }

  async #locate(hash: Uint8Array): Promise<BlockLink | undefined> {
    if (isZero(hash))
      throw new Error('the signed block is of a fork before Capella, which names no execution block')
    const link = await this.#options.locate(toHash32(hash))
    if (link === undefined) this.#complain(`no upstream has the signed block ${bytesToHex(hash)} yet`)
    return link
  }

  #complain(text: string): void {
    this.#trouble = text
    if (text !== this.#reported) this.#options.log(text)
    this.#reported = text
  }
}

function requireFresh(client: LightClient, slot: number): void {
  const why = staleness(client.finalized.header.beacon.slot, slot)
  if (why !== undefined) throw new OperatorError(why)
}
