/**
 * Reads new blocks whole, together with the data that shows how stored values change. All of it is requested in one
 * turn, so in one batch. Owns the choice of the method: the best that some node offers.
 */

import type { AccountAccess, BlockAccessList, IndexedValue } from '../../../data/chain/blockAccessList.js'
import { decodeHeader, type Header } from '../../../data/chain/header.js'
import { decodeAccount, emptyAccount, encodeAccount, isEmptyAccount } from '../../../data/state/account.js'
import type { Change } from '../../../data/store/blockDiff.js'
import type { FetchedReceipts, GatewayWriter, ProvedState } from '../../../data/store/gatewayWriter.js'
import { unknownRoot } from '../../../data/store/layouts/storedValueRows.js'
import type { AccountChange, BlockChanges } from '../../../data/store/storedValues.js'
import { bytesToBigInt, bytesToHex, type Hash32, latin1Key, noBytes } from '../../../primitives/bytes.js'
import { waitedForLater } from '../../../primitives/deferred.js'
import { FaultError } from '../../../primitives/faults.js'
import { emptyCodeHash, keccak256 } from '../../../primitives/keccak.js'
import type { Upstream } from '../../upstream/upstream.js'
import { accessListMethods, witnessMethods } from '../nodes/askedParts.js'
import type { CurrentWay } from '../thread/messages.js'
import type { FetcherOptions, ProvedBlock } from './blockFetcher.js'
import { WitnessExecutor } from './executedWitness.js'
import type { ProofFetcher } from './proofFetcher.js'

/** A block with all its stored parts. */
export interface WholeBlock extends ProvedBlock {
  readonly receipts: FetchedReceipts
  readonly accessList: Uint8Array | undefined
  /** The changes of the block; undefined if they are unknown. */
  readonly changes: BlockChanges | undefined
  readonly nodes: readonly Change[]
  readonly codes: readonly Change[]
  /** The data in use, proved after the block, if its changes are unknown. */
  readonly proved: readonly ProvedState[]
}

/** Maximum time to keep stored values current: a head must not wait longer for it. */
const currentMsMax = 4_000
/** Time for which a method that failed at one head is not used. */
const pauseMs = 10_000

const methodsOf = { accessList: accessListMethods, witness: witnessMethods } as const

type ChangesFrom = Pick<WholeBlock, 'changes'> & Partial<WholeBlock>

export class HeadReader {
  readonly #store: GatewayWriter
  readonly #fetcher: ProofFetcher
  readonly #options: FetcherOptions
  readonly #executor: WitnessExecutor
  /** Method → time until which it is not used, in the time of `performance.now()`. */
  readonly #pausedUntil = { accessList: 0, witness: 0 }
  /** Method → reason of its last failure that the operator got. */
  readonly #said = { accessList: '', witness: '' }
  /** The method used for the newest block. */
  way: CurrentWay | undefined

  constructor(store: GatewayWriter, fetcher: ProofFetcher, options: FetcherOptions) {
    this.#store = store
    this.#fetcher = fetcher
    this.#options = options
    this.#executor = new WitnessExecutor(options.schedule, store.readIdentity()?.development !== undefined)
  }

  /**
   * A block by its hash, with its parts; undefined if no node has it. Rejects with FaultError as
   * {@link ProofFetcher.fetch}.
   */
  async read(hash: Hash32): Promise<WholeBlock | undefined> {
    const head = this.#store.readHead()
    const isListed = head !== undefined && this.#headerOf(head.hash)?.blockAccessListHash !== undefined
    const way = this.#choose(isListed)
    const block = waitedForLater(this.#fetcher.readBlock(hash, this.#best(way)))
    return this.#complete(hash, block, way)
  }

  /** The parts of a known block. */
  async completed(block: ProvedBlock, isLast: boolean): Promise<WholeBlock> {
    const way = this.#choose(block.header.blockAccessListHash !== undefined)
    return (await this.#complete(block.hash, Promise.resolve(block), way, isLast)) as WholeBlock
  }

  async #complete(
    hash: Hash32,
    block: Promise<ProvedBlock | undefined>,
    way: CurrentWay,
    isLast = true,
  ): Promise<WholeBlock | undefined> {
    const first = this.#best(way)
    const stored = this.#store.readReceipts(hash)
    const readReceipts = () => this.#fetcher.readReceipts(hash, waitedForLater(block), first)
    const isHot = way === 'proofs' && isLast
    const [found, changed, receipts, hot] = await Promise.all([
      block,
      this.#changes(hash, block, way),
      stored === undefined && way !== 'witness' ? readReceipts() : stored && { row: stored },
      isHot ? this.#readHot(hash, block) : undefined,
    ])
    if (found === undefined) return undefined
    const own = await this.#otherwise(found, way, changed)
    const row = receipts ?? own?.receipts ?? (await this.#fetcher.readReceipts(hash, found))
    if (row === undefined) throw new Error(`no upstream has the receipts of block ${found.header.number}`)
    const { changes, accessList, nodes = [], codes = [] } = own ?? {}
    const isProved = changes === undefined && isLast
    const proved = hot ?? (isProved ? await this.#readHot(hash, block) : [])
    return { ...found, receipts: row, accessList, changes, nodes, codes, proved }
  }

  /** The changes of a block, by another method if the tried one failed. */
  async #otherwise(
    block: ProvedBlock,
    tried: CurrentWay,
    changed: ChangesFrom | undefined,
  ): Promise<ChangesFrom | undefined> {
    if (changed !== undefined) {
      this.way = tried
      return changed
    }
    if (tried !== 'proofs') {
      const isListed = block.header.blockAccessListHash !== undefined
      // Before the first block with a list arrived, it was unknown that blocks have lists.
      if (tried === 'accessList' && isListed) this.#pausedUntil.accessList = performance.now() + pauseMs
      if (tried === 'witness' && !isListed) this.#pausedUntil.witness = performance.now() + pauseMs
      const next = this.#choose(isListed && tried !== 'accessList')
      if (next !== tried && next !== 'proofs') {
        return this.#otherwise(block, next, await this.#changes(block.hash, Promise.resolve(block), next))
      }
    }
    this.way = 'proofs'
    return undefined
  }

  /** Undefined if this method fails. */
  async #changes(
    hash: Hash32,
    block: Promise<ProvedBlock | undefined>,
    way: CurrentWay,
  ): Promise<ChangesFrom | undefined> {
    if (way === 'proofs') return undefined
    const options = { first: this.#best(way), msMax: currentMsMax }
    try {
      if (way === 'accessList') {
        const found = await this.#fetcher.readAccessList(hash, block, options)
        return found && { accessList: found.rlp, changes: listedChanges(found.list) }
      }
      return await this.#fetcher.readWitness(hash, block, options, (answer, of) => this.#execute(answer, of))
    } catch (error) {
      if (!(error instanceof FaultError)) throw error
      // A failure that repeats at each head for the same reason is logged once.
      const why = error.message.replaceAll(bytesToHex(hash), '')
      if (why !== this.#said[way]) this.#options.log?.(`block ${bytesToHex(hash)}: ${error.message}`)
      this.#said[way] = why
      return undefined
    }
  }

  #readHot(hash: Hash32, block: Promise<ProvedBlock | undefined>): Promise<ProvedState[]> {
    return this.#fetcher.readHot(hash, block, { msMax: currentMsMax })
  }

  #choose(isListed: boolean): CurrentWay {
    // Other families are executed by unknown rules.
    if (this.#options.schedule.family.execution === undefined) return 'proofs'
    const isOpen = (way: 'accessList' | 'witness') =>
      performance.now() >= this.#pausedUntil[way] && this.#best(way) !== undefined
    if (isListed && isOpen('accessList')) return 'accessList'
    return isOpen('witness') ? 'witness' : 'proofs'
  }

  #best(way: CurrentWay): Upstream | undefined {
    return way === 'proofs' ? undefined : this.#fetcher.proving.bestWith(methodsOf[way])
  }

  #headerOf(hash: Hash32): Header | undefined {
    const row = this.#store.hasHeader(hash) ? this.#store.readHeader(hash) : undefined
    return row && decodeHeader(row)
  }

  /** The changes of the block by its witness; none if the parent is not stored. */
  #execute(answer: unknown, block: ProvedBlock): ChangesFrom {
    const parent = this.#headerOf(block.header.parentHash)
    if (parent === undefined) return { changes: undefined }
    return this.#executor.execute(answer, block, {
      parent,
      slotsOf: (address) => this.#store.storedSlotsOf(address),
      hashAt: (number) => this.#ancestorHash(block.header, number),
    })
  }

  /** The hash of a block's ancestor, even if the block is not canonical; undefined if it is not stored. */
  #ancestorHash(header: Header, number: number): Hash32 | undefined {
    let hash = header.parentHash
    for (let at = header.number - 1; at > number; at--) {
      if (this.#store.isCanonical(at, hash)) return this.#store.readCanonicalHash(number)
      const below = this.#headerOf(hash)
      if (below === undefined) return undefined
      hash = below.parentHash
    }
    return hash
  }
}

/**
 * The state changes of a block, from its access list (EIP-7928): the values after the last change of each. The list
 * contains no storage roots.
 */
function listedChanges(list: BlockAccessList): BlockChanges {
  return new Map(list.map((access) => [latin1Key(access.address), accountChange(access)]))
}

function accountChange(access: AccountAccess): AccountChange {
  const { address, storageChanges, balanceChanges, nonceChanges, codeChanges } = access
  const slots = new Map(
    storageChanges.map(({ slot, changes }) => [latin1Key(slot), lastOf(changes) ?? noBytes]),
  )
  const [balance, nonce, bytes] = [balanceChanges, nonceChanges, codeChanges].map(lastOf)
  const codeHash = bytes && (bytes.length === 0 ? emptyCodeHash : keccak256(bytes))
  return {
    address,
    slots,
    code: bytes && codeHash && bytes.length > 0 ? [codeHash, bytes] : undefined,
    after(row) {
      const before = row.length === 0 ? emptyAccount : decodeAccount(row)
      // Touching an empty account removes it (EIP-161); the list does not show whether it was touched.
      if (row.length > 0 && isEmptyAccount(before)) return undefined
      const after = {
        balance: balance === undefined ? before.balance : bytesToBigInt(balance),
        nonce: nonce === undefined ? before.nonce : bytesToBigInt(nonce),
        codeHash: codeHash ?? before.codeHash,
        storageRoot: slots.size === 0 ? before.storageRoot : (unknownRoot as Hash32),
      }
      return isEmptyAccount(after) ? noBytes : encodeAccount(after)
    },
  }
}

function lastOf(changes: readonly IndexedValue[]): Uint8Array | undefined {
  return changes.at(-1)?.value
}
