import type { BlockName, Marker } from '../../../data/store/chainRows.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import type { Upstreams } from '../../upstream/upstreams.js'
import { blockNameOf, markers, mayMark, newCheckpoint, type SignedMarks } from '../mayMark.js'

/** The blocks that upstreams call safe and finalized, or that are final as far as it is signed, kept in the store. */
export class UpstreamMarkers {
  readonly #upstreams: Upstreams
  readonly #store: ChainWriter
  readonly #requestMs: number
  readonly #signed: SignedMarks | undefined
  #named: readonly { readonly marker: Marker; readonly block: BlockName }[] = []

  constructor(upstreams: Upstreams, store: ChainWriter, requestMs: number, signed?: SignedMarks) {
    this.#upstreams = upstreams
    this.#store = store
    this.#requestMs = requestMs
    this.#signed = signed
  }

  /** Asks for both. Resolves when they are known, or the upstreams did not answer. */
  async ask(): Promise<void> {
    const named = await Promise.all(markers.map((marker) => this.#ask(marker)))
    this.#named = markers.flatMap((marker, index) => {
      const block = named[index]
      return block === undefined ? [] : [{ marker, block }]
    })
  }

  /**
   * Stores what is new of the last answers, as far as it {@link mayMark may be}. Resolves to whether anything was.
   */
  async store(): Promise<boolean> {
    const moved = this.#named.filter(({ marker, block }) => mayMark(this.#store, marker, block))
    this.#named = []
    const checkpoint = newCheckpoint(this.#store, this.#signed)
    if (moved.length === 0 && checkpoint === undefined) return false
    this.#store.beginBatch()
    for (const { marker, block } of moved) this.#store.writeMarker(marker, block)
    if (checkpoint !== undefined) this.#store.writeCheckpoint(checkpoint)
    await this.#store.commitBatch()
    return moved.length > 0
  }

  /** Undefined where the upstream names none, or does not answer. */
  async #ask(marker: Marker): Promise<BlockName | undefined> {
    if (this.#signed !== undefined) return this.#signed.finalized
    const deadline = performance.now() + this.#requestMs
    const asked = this.#upstreams.ask('eth_getBlockByNumber', [marker, false], { deadline })
    return asked.then(({ result }) => blockNameOf(result)).catch(() => undefined)
  }
}
