/**
 * Tables of contracts' rows with addresses in keys, for all layers above; the file has numbers in their place
 * (contractIds.ts). So rows of one contract are in the order of their keys. Contracts are in the order of their
 * numbers, which each store assigns itself. A range is over all rows, over those from a key on, or over rows of one
 * contract.
 */
import { addressBytes, equalBytes, joinBytes, readUint32, writeUint32 } from '../../primitives/bytes.js'
import { ContractIds, idBytes, idKey, NewContractIds, noContract } from './contractIds.js'
import type { BufferedTables, WriteBuffers } from './lmdb/writeBuffer.js'
import type { Entry, Range, ReadTable, RowBuffer } from './readTable.js'
import { type ContractTableName, keyAfterPrefix, keyBytesMax, type ReadTables } from './tables.js'

/** Buffer for keys of reads, which tables copy: a new key for each read would be garbage. */
const asked = new Uint8Array(idBytes + keyBytesMax)
/** Views of the array, by their start and the length of the caller's key. */
const askedParts: Uint8Array[][] = Array.from({ length: 2 + addressBytes }, () => [])

const noName = new Uint8Array(0)
const noOrder = () => new RangeError('a range of several contracts, which are in the order of their numbers')

/** Offset of the address in a key. In a trie's key it follows a 1; a 0 there stands for the trie of accounts. */
const addressAt: { readonly [name in ContractTableName]: 0 | 1 } = { slots: 0, slotHistory: 0, trie: 1 }
const tableNames = Object.keys(addressAt) as ContractTableName[]

export function readByContract(tables: ReadTables): ReadTables {
  const ids = new ContractIds(tables.contracts)
  const rows = tableNames.map((name) => [name, new ContractRows(tables[name], ids, addressAt[name])])
  return { ...tables, ...Object.fromEntries(rows) }
}

/** The tables of a writer. It must call `ids.forget` when it forgets waiting changes. */
export function bufferByContract(tables: WriteBuffers): {
  readonly named: BufferedTables
  readonly ids: ContractIds
} {
  const ids = new NewContractIds(tables.contracts)
  const rows = tableNames.map((name) => [name, new ContractBuffer(tables[name], ids, addressAt[name])])
  return { named: { ...tables, ...Object.fromEntries(rows) }, ids }
}

class ContractRows implements ReadTable {
  readonly #table: ReadTable
  protected readonly ids: ContractIds
  protected readonly addressAt: 0 | 1

  constructor(table: ReadTable, ids: ContractIds, addressAt: 0 | 1) {
    this.#table = table
    this.ids = ids
    this.addressAt = addressAt
  }

  getBinary(key: Uint8Array): Uint8Array | undefined {
    const asked = this.asked(key)
    return asked && this.#table.getBinary(asked)
  }

  getBrief(key: Uint8Array, bytesMax?: number): Uint8Array | undefined {
    const asked = this.asked(key)
    return asked && this.#table.getBrief(asked, bytesMax)
  }

  viewUntilNextRead(key: Uint8Array): Uint8Array | undefined {
    const asked = this.asked(key)
    return asked && this.#table.viewUntilNextRead(asked)
  }

  doesExist(key: Uint8Array): boolean {
    const asked = this.asked(key)
    return asked !== undefined && this.#table.doesExist(asked)
  }

  getRange(range: Range = {}): Iterable<Entry> {
    return this.walk(range, (own) => this.#table.getRange(own))
  }

  getCount(): number {
    return this.#table.getCount()
  }

  /** The key of a row in the file, valid until the next call; undefined if its contract has no rows. */
  protected asked(key: Uint8Array): Uint8Array | undefined {
    const id = this.idOf(key)
    return id === undefined ? undefined : askedKey(id, key, this.ownerBytes(key))
  }

  /** Number of key bytes that name the owner. */
  protected ownerBytes(key: Uint8Array): number {
    return this.addressAt === 1 && key[0] === 0 ? 1 : this.addressAt + addressBytes
  }

  /** Undefined for a contract without rows. */
  protected idOf(key: Uint8Array): number | undefined {
    if (this.addressAt === 1 && key[0] === 0) return noContract
    const id = this.ids.find(key, this.addressAt)
    return id === noContract ? undefined : id
  }

  /** Reads rows of the table below. Reads nothing before the first step, because callers guard each step. */
  protected *walk({ start, end, ...rest }: Range, read: (range: Range) => Iterable<Entry>): Generator<Entry> {
    /** The owner in the keys of callers that stands for number `id`. */
    let name: Uint8Array = noName
    let id: number | undefined
    let range: Range = rest
    if (start !== undefined && start.length > 0) {
      id = this.idOf(start)
      if (id === undefined) return
      const owner = this.ownerBytes(start)
      name = start.subarray(0, owner)
      range = { ...rest, start: askedKey(id, start, owner).slice() }
      if (end !== undefined) {
        const isWithin = equalBytes(end.subarray(0, owner), name)
        if (!isWithin && (rest.reverse || !equalBytes(end, keyAfterPrefix(name)))) throw noOrder()
        range = { ...range, end: isWithin ? askedKey(id, end, owner).slice() : idKey(id + 1) }
      }
    } else if (end !== undefined) throw noOrder()
    for (const { key, value } of read(range)) {
      const own = readUint32(key, 0)
      if (own !== id) name = this.#nameOf(own)
      id = own
      yield { key: namedKey(name, key), value }
    }
  }

  #nameOf(id: number): Uint8Array {
    if (this.addressAt === 1 && id === noContract) return Uint8Array.of(0)
    const address = this.ids.addressOf(id)
    return this.addressAt === 0 ? address : joinBytes([Uint8Array.of(1), address])
  }
}

/** A table with its waiting changes (writeBuffer.ts). */
class ContractBuffer extends ContractRows implements RowBuffer {
  readonly #table: RowBuffer
  readonly #ids: NewContractIds

  constructor(table: RowBuffer, ids: NewContractIds, addressAt: 0 | 1) {
    super(table, ids, addressAt)
    this.#table = table
    this.#ids = ids
  }

  putSync(key: Uint8Array, value: Uint8Array): void {
    const owner = this.ownerBytes(key)
    const id = owner === 1 ? noContract : this.#ids.findOrGive(key, this.addressAt)
    this.#table.putSync(askedKey(id, key, owner).slice(), value)
  }

  removeSync(key: Uint8Array): void {
    const own = this.asked(key)
    if (own !== undefined) this.#table.removeSync(own.slice())
  }

  stored(key: Uint8Array): Uint8Array | undefined {
    const asked = this.asked(key)
    return asked && this.#table.stored(asked)
  }

  storedRange(range: Range): Iterable<Entry> {
    return this.walk(range, (own) => this.#table.storedRange(own))
  }

  noteMoved(key: Uint8Array, to: Uint8Array): void {
    const place = this.asked(to)?.slice()
    if (place !== undefined) this.#table.noteMoved(this.asked(key) as Uint8Array, place)
  }

  movedFrom(key: Uint8Array): Uint8Array | undefined {
    const asked = this.asked(key)
    const moved = asked && this.#table.movedFrom(asked)
    return moved && namedKey(key.subarray(0, this.ownerBytes(key)), moved)
  }

  compare(a: Uint8Array, b: Uint8Array): number {
    const first = this.idOf(a) ?? noContract
    const second = this.idOf(b) ?? noContract
    return first === second ? Buffer.compare(a, b) : first - second
  }
}

/** Replaces the owner in a key by number `id`, which takes the owner's last four bytes; valid until the next call. */
function askedKey(id: number, key: Uint8Array, ownerBytes: number): Uint8Array {
  asked.set(key, idBytes)
  writeUint32(asked, id, ownerBytes)
  const parts = askedParts[ownerBytes] as Uint8Array[]
  parts[key.length] ??= asked.subarray(ownerBytes, idBytes + key.length)
  return parts[key.length] as Uint8Array
}

/** The caller's key for `row`, a key in the file. */
function namedKey(name: Uint8Array, row: Uint8Array): Uint8Array {
  const key = new Uint8Array(name.length + row.length - idBytes)
  if (name.length < idBytes) key.set(row.subarray(idBytes), name.length)
  else key.set(row, name.length - idBytes)
  key.set(name)
  return key
}
