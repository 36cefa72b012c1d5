/**
 * The store of a developer chain on top of a block of another chain: a gateway's store, whose head is made here. Proved
 * trie nodes and those of own blocks are in one table by their hashes. So a walk from any own state root ends at a
 * proved value. Owns the rows of own blocks and of changes by hand; forkedNodes.ts fetches.
 */
import { decodeHeader } from '../../../data/chain/header.js'
import { emptyAccount, encodeAccount } from '../../../data/state/account.js'
import type { StateView } from '../../../data/state/stateView.js'
import { provedState } from '../../../data/state/trieState.js'
import type { BlockDiff, Change } from '../../../data/store/blockDiff.js'
import {
  ancestorsMax,
  type ChainIdentity,
  type ChangeByHand,
  type ForkBase,
  requireIdentity,
  type StateRows,
} from '../../../data/store/chainRows.js'
import type { ChainWriterOptions } from '../../../data/store/chainWriter.js'
import { putChangeByHand, readChangesByHand } from '../../../data/store/changesByHand.js'
import { type CanonicalHeader, GatewayWriter, type ProvedState } from '../../../data/store/gatewayWriter.js'
import { keyAfterPrefix, metaKeys } from '../../../data/store/tables.js'
import {
  type Address,
  bytesToHex,
  concatBytes,
  equalBytes,
  type Hash32,
  hexToBytes,
  noBytes,
  toHash32,
  toMinimalBytes,
} from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { NotStoredError, type Wanted } from '../../../primitives/notStored.js'

/** The block at which the chain leaves that of its nodes. */
export interface ForkedBase {
  readonly number: number
  readonly block: Hash32
  /** Root of the state after the block. */
  readonly stateRoot: Hash32
  /** Seconds since 1970. */
  readonly timestamp: number
}

/** Most bases that a store remembers: a suite names a few, and a row of them has some 5 KB. */
const basesMax = 64

const basesOf = ({ number, hash, bases = [{ number, hash }] }: ForkBase) => bases

export class ForkedWriter extends GatewayWriter {
  #base: ForkedBase | undefined

  static override open(options: ChainWriterOptions): ForkedWriter {
    return ForkedWriter.openForWriting(options) as ForkedWriter
  }

  /** Makes a block the head of a new store, below which nothing is made here. */
  beginAt(identity: ChainIdentity, base: CanonicalHeader, { hash, chainId }: Omit<ForkBase, 'number'>): void {
    this.writeTogether(() => {
      this.begin({ ...identity, fork: { number: base.number, hash, chainId } })
      this.extendDown([{ ...base, totalDifficulty: undefined }])
      this.commit(() => this.putHead(base))
    })
  }

  /**
   * Makes another block of the same chain the base. Own blocks and changes by hand are removed; proved values stay, because
   * each is found from a state root.
   */
  moveBase(base: CanonicalHeader): void {
    const identity = requireIdentity(this)
    const { fork } = identity
    const { number } = this.base
    if (fork === undefined) return
    const hash = bytesToHex(base.hash)
    const bases = [...basesOf(fork)]
    if (!bases.some((each) => each.hash === hash)) bases.push({ number: base.number, hash })
    // The first one names the store.
    if (bases.length > basesMax) bases.splice(1, 1)
    this.writeTogether(() => {
      if (this.head.number > number) this.#goBack(this.head.number, number)
      this.undoByHand(0)
      this.restartAt({ ...base, totalDifficulty: undefined })
      this.begin({ ...identity, fork: { ...fork, number: base.number, hash, bases } })
      this.writeNextBlock(undefined)
      this.commit(() => {
        const { meta } = this.tables
        meta.removeSync(metaKeys.valueBounds)
        for (const key of [...this.#changedKeys(noBytes, 20), ...this.#changedKeys(noBytes, 52)])
          meta.removeSync(concatBytes(metaKeys.changedHere, key))
      })
    })
    this.#base = undefined
  }

  /** The header of a block that is the base, or was it. */
  baseAt(number: number): CanonicalHeader | undefined {
    const { fork } = requireIdentity(this)
    const known = fork && basesOf(fork).find((each) => each.number === number)
    if (known === undefined) return undefined
    const hash = toHash32(hexToBytes(known.hash))
    const header = this.readHeader(hash)
    return header && { number, hash, header, totalDifficulty: undefined }
  }

  /** Number of the base with which the store was made. */
  get firstBase(): number {
    return requireIdentity(this).fork?.bases?.[0]?.number ?? this.base.number
  }

  /** Throws OperatorError for a store of another kind. */
  get base(): ForkedBase {
    if (this.#base !== undefined) return this.#base
    const { fork } = requireIdentity(this)
    if (fork === undefined)
      throw new OperatorError(`the store ${this.path} is no fork's; name another folder with --data`)
    const block = toHash32(hexToBytes(fork.hash))
    const { stateRoot, timestamp } = decodeHeader(this.readHeader(block) as Uint8Array)
    this.#base = { number: fork.number, block, stateRoot, timestamp: Number(timestamp) }
    return this.#base
  }

  /** The state after the head. Its reads throw NotStoredError for values that were not fetched. */
  get headState(): StateView {
    const { hash } = this.head
    const header = decodeHeader(this.readHeader(hash) as Uint8Array)
    return this.#stateAt(hash, this.readRootByHand(hash) ?? header.stateRoot)
  }

  /** The state after the base, without changes by hand. */
  get baseState(): StateView {
    const { block, stateRoot } = this.base
    return this.#stateAt(block, stateRoot)
  }

  #stateAt(block: Hash32, root: Hash32): StateView {
    const readCode = (codeHash: Hash32) => {
      const code = this.readCode(codeHash)
      if (code === undefined) throw new NotStoredError({ kind: 'code', hash: codeHash })
      return code
    }
    const readNode = (nodeHash: Uint8Array) => this.readNode(nodeHash)
    const knowsCode = (codeHash: Hash32) =>
      this.tables.code.doesExist(codeHash) || this.readCodeOwner(codeHash) !== undefined
    return provedState({ readNode, readCode, knowsCode }, root, block)
  }

  override readAccount(address: Address): Uint8Array | undefined {
    const account = this.headState.account(address)
    return account && encodeAccount(account)
  }

  override readSlot(address: Address, slot: Hash32): Uint8Array | undefined {
    return this.headState.slot(address, slot)
  }

  /**
   * No node proves the total difficulty. After the Merge it is at least the terminal one, which is enough for the
   * rules.
   */
  override readTotalDifficulty(hash: Hash32): Uint8Array | undefined {
    const stored = super.readTotalDifficulty(hash)
    if (stored !== undefined && stored.length > 0) return stored
    const { terminalTotalDifficulty = 0 } = JSON.parse(requireIdentity(this).config)
    return toMinimalBytes(BigInt(terminalTotalDifficulty))
  }

  /** Throws NotStoredError for a block below the base that BLOCKHASH can read and that is not linked yet. */
  override readCanonicalHash(number: number): Hash32 | undefined {
    const hash = super.readCanonicalHash(number)
    const above = this.readHead() === undefined ? 0 : this.base.number
    if (hash === undefined && number >= 0 && number < above && number >= above - ancestorsMax)
      throw new NotStoredError({ kind: 'canonical', number })
    return hash
  }

  override apply(forkNumber: number, blockDiffs: readonly BlockDiff[]): void {
    const head = this.head.number
    if (forkNumber < this.base.number)
      throw new OperatorError(`the chain cannot go back to block ${forkNumber}: it begins at its base`)
    this.writeTogether(() => {
      if (forkNumber < head) this.#goBack(head, forkNumber)
      for (const diff of blockDiffs) this.#append(diff)
      // Values of a gateway's heads are not kept: each is found from the state root of its own block.
      this.commit(() => this.tables.meta.removeSync(metaKeys.valueBounds))
    })
  }

  #goBack(head: number, forkNumber: number): void {
    const hash = this.readCanonicalHash(forkNumber) as Hash32
    this.commit(() => {
      for (let number = head; number > forkNumber; number--) {
        this.dropByHand({ number, hash: this.readCanonicalHash(number) as Hash32 })
      }
    })
    this.advance(forkNumber, [], false)
    this.commit(() => this.putHead({ number: forkNumber, hash }))
  }

  #append(diff: BlockDiff): void {
    const { number, hash, header, body, senders, receipts, blockAccessList, nodes = [], code } = diff
    this.commit(() => {
      this.tables.meta.removeSync(metaKeys.rootByHand(hash))
      this.#noteChanged(diff)
    })
    this.putBlock({
      hash,
      header,
      content: { body, senders },
      receipts: { row: receipts },
      accessList: blockAccessList,
      nodes,
      codes: code,
    })
    this.advance(number - 1, [{ number, hash, header, totalDifficulty: undefined }], false)
  }

  override changeByHand(
    { what, stateRoot, ...rows }: Omit<ChangeByHand, 'number'>,
    code: readonly Change[] = [],
    nodes: readonly Change[] = [],
  ): void {
    this.commit(() => {
      const { head, tables } = this
      this.#noteChanged(rows)
      for (const [key, value] of code) tables.code.putSync(key, value)
      for (const [key, value] of nodes) tables.nodes.putSync(key, value)
      const change = { what, stateRoot, accounts: [], slots: [], trie: [] }
      putChangeByHand(tables.meta, head, this.countByHand(head.number), change)
      tables.meta.putSync(metaKeys.rootByHand(head.hash), stateRoot)
      this.putByHand({ added: 1 })
    })
  }

  #noteChanged({ accounts, slots }: Pick<StateRows, 'accounts' | 'slots'>): void {
    const { meta } = this.tables
    for (const [key] of [...accounts, ...slots]) {
      const row = concatBytes(metaKeys.changedHere, key)
      if (!meta.doesExist(row)) meta.putSync(row, noBytes)
    }
  }

  #changedKeys(prefix: Uint8Array, bytes: number): Uint8Array[] {
    const start = concatBytes(metaKeys.changedHere, prefix)
    const range = this.tables.meta.getRange({ start, end: keyAfterPrefix(start) })
    const found: Uint8Array[] = []
    for (const { key } of range)
      if (key.length === metaKeys.changedHere.length + bytes)
        found.push(Uint8Array.from(key.subarray(metaKeys.changedHere.length)))
    return found
  }

  /**
   * Accounts after the head that differ from the base's, as stored rows; one that is gone has none of its own left. Throws
   * NotStoredError for a value that was not fetched, as does {@link changedSlotsOf}.
   */
  *changedAccounts(): Generator<readonly [Address, Uint8Array]> {
    const { headState, baseState } = this
    for (const key of this.#changedKeys(noBytes, 20)) {
      const address = key as Address
      const row = encodeAccount(headState.account(address) ?? emptyAccount)
      if (!equalBytes(row, encodeAccount(baseState.account(address) ?? emptyAccount))) yield [address, row]
    }
  }

  /** Slots of an account that differ from the base's, zero ones too. */
  *changedSlotsOf(address: Address): Generator<readonly [Hash32, Uint8Array]> {
    const { headState, baseState } = this
    for (const key of this.#changedKeys(address, 52)) {
      const slot = toHash32(key.slice(20))
      const value = headState.slot(address, slot) ?? noBytes
      if (!equalBytes(value, baseState.slot(address, slot) ?? noBytes)) yield [slot, value]
    }
  }

  override undoByHand(kept: number): void {
    this.commit(() => {
      const { head, tables } = this
      const changes = [...readChangesByHand(tables.meta, head.number)]
      for (let index = changes.length - 1; index >= kept; index--)
        putChangeByHand(tables.meta, head, index, undefined)
      const last = kept === 0 ? undefined : changes[kept - 1]
      if (last === undefined) tables.meta.removeSync(metaKeys.rootByHand(head.hash))
      else tables.meta.putSync(metaKeys.rootByHand(head.hash), last.stateRoot)
      this.putByHand({ added: Math.min(0, kept - changes.length) })
    })
  }

  /** The nodes alone: see {@link apply}. */
  override putState(state: ProvedState, block: Hash32): boolean {
    return super.putState(state, block, false)
  }

  /**
   * The request to nodes for data that an own state lacks. It asks for the same data of the base, which the own state
   * has not replaced.
   */
  fromBase(wanted: Wanted): Wanted {
    if (wanted.kind !== 'state') return wanted
    const { number, block, stateRoot } = this.base
    if (equalBytes(wanted.block, block)) return { ...wanted, stateRoot }
    const header = this.readHeader(wanted.block)
    const isOwn = header === undefined || decodeHeader(header).number >= number
    return isOwn ? { ...wanted, block, stateRoot } : wanted
  }
}
