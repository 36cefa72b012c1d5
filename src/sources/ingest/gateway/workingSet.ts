/** The state data that a gateway stores: how it stays current, its use, its pinned parts, and its maximum size. */

import type { GatewayWriter } from '../../../data/store/gatewayWriter.js'
import { ValueUse } from '../../../data/store/valueUse.js'
import { type Address, hexToBytes } from '../../../primitives/bytes.js'
import type { Asking } from '../nodes/proving.js'
import type { CurrentWay, WorkingSetPlan, WorkingSetState } from '../thread/messages.js'
import type { FetcherOptions } from './blockFetcher.js'
import { HeadReader } from './headReader.js'
import { HotSet } from './hotSet.js'
import { ProofFetcher } from './proofFetcher.js'
import { SetBounds } from './setBounds.js'
import { Watched } from './watched.js'

const planDefault: WorkingSetPlan = { maxMB: 4_096, proofUnits: 4_096, watch: [] }
/** Maximum bytes of nodes in the proofs with a head: a line of 20 Mbit/s transfers them in 3 s. */
const proofBytesMax = 8 * 2 ** 20

export class WorkingSet {
  readonly fetcher: ProofFetcher
  readonly reader: HeadReader
  /** Heads since the start, by the method that kept values current. */
  readonly heads: Record<CurrentWay, number> = { accessList: 0, witness: 0, proofs: 0 }
  readonly #store: GatewayWriter
  readonly #bytesMax: number
  readonly #bounds: SetBounds
  readonly #watched: Watched
  readonly #watchedCount: number

  constructor(
    store: GatewayWriter,
    upstreams: Asking,
    options: Omit<FetcherOptions, 'hot'> & { readonly plan?: WorkingSetPlan | undefined },
  ) {
    const { maxMB, proofUnits, watch } = options.plan ?? planDefault
    const use = ValueUse.shared()
    const hot = new HotSet(use, { units: proofUnits, bytes: proofBytesMax })
    const addresses = watch.map((address) => hexToBytes(address) as Uint8Array as Address)
    const { log = () => undefined } = options
    this.#store = store
    this.#bytesMax = maxMB * 2 ** 20
    this.#watchedCount = addresses.length
    this.fetcher = new ProofFetcher(store, upstreams, { ...options, hot })
    this.reader = new HeadReader(store, this.fetcher, options)
    this.#bounds = new SetBounds(store, use, { bytesMax: this.#bytesMax, pinned: addresses })
    this.#watched = new Watched(store, this.fetcher, { addresses, log })
  }

  get state(): WorkingSetState {
    const { way } = this.reader
    const { currentFrom } = this.#store
    return {
      ...(way !== undefined && { way }),
      ...(currentFrom !== undefined && { currentFrom }),
      bytes: this.#store.stateBytes,
      bytesMax: this.#bytesMax,
      watched: this.#watchedCount,
      whole: this.#watched.whole,
    }
  }

  /** Call this once a head is stored. */
  onHead(): void {
    const { way } = this.reader
    if (way !== undefined) this.heads[way]++
    this.#bounds.trim()
    if (way === 'accessList' || way === 'witness') this.#watched.wake()
  }

  /** Resolves once the store is no longer used. The caller must also end the requests that it waits for. */
  close(): Promise<void> {
    return this.#watched.close()
  }
}
