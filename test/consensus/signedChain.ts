/** The consensus layer of a chain of blocks that a test makes: signs chosen blocks, at real beacon servers. */
import type { Test } from 'tap'
import { hexToBytes } from '../../src/primitives/bytes.js'
import { slotsPerPeriod } from '../../src/sources/consensus/network.js'
import type { BeaconBody } from './beaconBody.js'
import { BeaconServer, BeaconView } from './beaconServer.js'
import { crossedEpochs, SimulatedChain, simulatedNetwork } from './simulatedChain.js'

/** An execution block. */
export interface SignedBlock {
  readonly number: number
  /** Hex. */
  readonly hash: string
}

/** Slot of block 0: in the middle of a period, so that each test stays within it. */
const firstSlot = 3 * slotsPerPeriod + 1_000
/** Slots between the clock and the newest block. */
const spareSlots = 4_000

export class SignedChain {
  readonly view: BeaconView
  /** Hashes of the execution blocks of signed slots. */
  readonly #hashes = new Map<number, string>()
  /** Whole bodies by the hashes of their execution blocks. */
  readonly #bodies = new Map<string, BeaconBody>()
  /** Each signature gets another slot, so that a branch of the same height is signed later. */
  #slot = firstSlot

  /** With `isGloas` the beacon block of a slot names the execution block of the previous one, by the rules of Gloas. */
  constructor(isGloas = false) {
    const genesisTime = Math.floor(Date.now() / 1_000) - (firstSlot + spareSlots) * 12
    const gloas = isGloas ? 0 : 10_000_000
    const epochs = { ...crossedEpochs, deneb: 0, electra: 0, fulu: 0, gloas }
    const hashAt = (slot: number) => hexToBytes(this.#hashes.get(slot) ?? `0x${'00'.repeat(32)}`)
    const bodyAt = (slot: number) => this.#bodies.get(this.#hashes.get(slot) ?? '')
    this.view = new BeaconView(new SimulatedChain(simulatedNetwork(genesisTime, epochs), hashAt, bodyAt))
  }

  /** Has the beacon block of an execution block a whole body, and another one final in its state. Returns its root. */
  include(block: SignedBlock, body: BeaconBody, final?: SignedBlock): Uint8Array {
    const { chain } = this.view
    const slot = this.slotOf(block)
    this.#bodies.set(block.hash, body)
    if (final !== undefined) chain.finalize(slot, this.slotOf(final))
    return chain.root(slot)
  }

  /** Signs a block, and finalizes another one; only the first counts if there is no other. */
  sign(block: SignedBlock, final?: SignedBlock, participants?: number): number {
    const finalized = final && this.slotOf(final)
    const attested = this.slotOf(block)
    const signers = participants === undefined ? {} : { participants }
    this.view.optimistic = { attested, ...signers }
    if (finalized !== undefined) this.view.finality = { attested, finalized, ...signers }
    return attested
  }

  /** The root at which light clients may begin, hex. */
  checkpoint(block: SignedBlock): string {
    return this.view.checkpoint(this.slotOf(block))
  }

  /** The slot whose beacon block has this execution block; a new one if there is none yet. */
  slotOf({ hash }: SignedBlock): number {
    const known = [...this.#hashes].find(([, each]) => each === hash)?.[0]
    if (known !== undefined) return known
    this.#hashes.set(++this.#slot, hash)
    return this.#slot
  }

  async server(t: Test): Promise<BeaconServer> {
    const server = new BeaconServer(this.view)
    await server.start()
    t.teardown(() => server.stop())
    return server
  }

  /** The `beacon` member of a network's configuration. */
  config(servers: readonly BeaconServer[], checkpoint: string) {
    const { genesisTime, genesisValidatorsRoot, forks } = this.view.chain.network
    const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`
    const network = {
      genesisTime,
      genesisValidatorsRoot: hex(genesisValidatorsRoot),
      forks: forks.map(({ name, epoch, version }) => ({ name, epoch, version: hex(version) })),
    }
    const nodes = servers.map(({ url }) => ({ url, timeoutMs: 2_000 }))
    return { nodes, checkpoint, pollMs: 50, network }
  }
}
