import { bytesToHex, hexToBytes } from '../../../primitives/bytes.js'
import { putNewest } from '../../../primitives/putNewest.js'
import {
  type LightClientBootstrap,
  type LightClientUpdate,
  writeBootstrap,
  writeOptimistic,
  writeUpdate,
} from '../../consensus/gloasForm.js'
import { LightClient, LightClientError } from '../../consensus/lightClient.js'
import { type ConsensusNetwork, periodAt } from '../../consensus/network.js'
import type { BeaconApi } from './beaconApi.js'

/** Number of signed heads that are remembered, for clients that have an answer of the last minutes: 1 KB each. */
const headsMax = 32
/** Number of client checkpoints whose update chains are remembered: some 50 KB, and 50 KB for each period since. */
const pathsMax = 16

/** The chain of updates from a checkpoint to now, with a light client that has processed it. */
interface Path {
  readonly client: LightClient
  readonly bootstrap: LightClientBootstrap
  readonly updates: LightClientUpdate[]
}

/** Proofs of signed heads for clients that trust a checkpoint of their own. */
export class HeadProofs {
  readonly #api: BeaconApi
  /** Hash of an execution block → the update that signed it; oldest first. */
  readonly #heads = new Map<string, LightClientUpdate>()
  /** Root of a checkpoint → its chain of updates; oldest first. */
  readonly #paths = new Map<string, Promise<Path | undefined>>()

  constructor(api: BeaconApi) {
    this.#api = api
  }

  /** Remembers an update that made its attested block the head. */
  add(update: LightClientUpdate): void {
    putNewest(this.#heads, bytesToHex(update.attestedHeader.executionBlockHash), update, headsMax)
  }

  /**
   * A proof, as JSON, that a block is signed, for a client that trusts a checkpoint; both are hex. Undefined if the
   * block was not the head recently, or no beacon node has the updates from the checkpoint. `currentSlot` is that of
   * the clock.
   */
  async prove(
    network: ConsensusNetwork,
    checkpoint: string,
    blockHash: string,
    currentSlot: number,
  ): Promise<string | undefined> {
    const update = this.#heads.get(blockHash)
    if (update === undefined) return undefined
    const before = this.#paths.get(checkpoint) ?? Promise.resolve(undefined)
    const path = before.then((known) => this.#extend(known, network, checkpoint, update, currentSlot))
    putNewest(
      this.#paths,
      checkpoint,
      path.catch(() => undefined),
      pathsMax,
    )
    const found = await path
    if (found === undefined) return undefined
    return JSON.stringify({
      bootstrap: bytesToHex(writeBootstrap(found.bootstrap)),
      updates: found.updates.map((each) => bytesToHex(writeUpdate(each as Required<LightClientUpdate>))),
      update: bytesToHex(writeOptimistic(update)),
    })
  }

  /** Continues from a checkpoint until the committee that signed an update is known. */
  async #extend(
    known: Path | undefined,
    network: ConsensusNetwork,
    checkpoint: string,
    { signatureSlot }: LightClientUpdate,
    currentSlot: number,
  ): Promise<Path | undefined> {
    const root = hexToBytes(checkpoint)
    const path =
      known ??
      (await this.#api.bootstrap(network, root, (bootstrap): Path => {
        return { client: new LightClient(network, bootstrap, root), bootstrap, updates: [] }
      }))
    if (path === undefined) return undefined
    const { client, updates } = path
    for (;;) {
      const period = periodAt(client.finalized.header.beacon.slot)
      const last = client.isNextCommitteeKnown ? period + 1 : period
      if (periodAt(signatureSlot) <= last) return path
      const moved = await this.#api.updates(network, { first: last, count: 1 }, ([update]) => {
        if (update?.next === undefined || update.finality === undefined) return undefined
        try {
          client.process(update, currentSlot)
        } catch (error) {
          if (error instanceof LightClientError && error.kind === 'unusable') return undefined
          throw error
        }
        updates.push(update)
        return (
          periodAt(client.finalized.header.beacon.slot) > period || client.isNextCommitteeKnown || undefined
        )
      })
      if (moved === undefined) return undefined
    }
  }
}
