/**
 * Block diffs as bytes, for stores on other machines. Owns the encoding with its version and checksum, and reading a
 * block diff back from a store. verifyBlockDiff.ts verifies the content.
 *
 *   bytes  version (1 byte) ‖ SHA-256 of the rest (32) ‖ MessagePack of the list
 *
 *   list   hash, header, body, senders (20 bytes each), receipts, accounts, slots, code; since Amsterdam the access list
 *
 * Accounts and slots are lists of key, value, key, value …
 *
 * Derived data are left out: number and parent, hashes of transactions, the total difficulty, hashes of code, and trie
 * nodes. A reader computes all of them anyway to check the block diff, and trie nodes would be most of the bytes.
 */
import { createHash } from 'node:crypto'
import { Packr } from 'msgpackr'
import { type Account, decodeAccount } from '../../data/state/account.js'
import type { BlockDiff, Change } from '../../data/store/blockDiff.js'
import type { ChainReader } from '../../data/store/chainReader.js'
import { senderBytes } from '../../data/store/storedBlock.js'
import { addressBytes, equalBytes, type Hash32, latin1Key } from '../../primitives/bytes.js'
import { emptyCodeHash } from '../../primitives/keccak.js'

/** Raised with every change of the encoding. */
export const blockDiffVersion = 1

const checksumAt = 1
const partsAt = checksumAt + 32
const slotKeyBytes = 52

export interface BlockDiffParts
  extends Pick<
    BlockDiff,
    'hash' | 'header' | 'body' | 'receipts' | 'blockAccessList' | 'accounts' | 'slots'
  > {
  /** Sender of each transaction, 20 bytes each. */
  readonly senders: Uint8Array
  /** Code deployed in the block, by ascending hash. */
  readonly code: readonly Uint8Array[]
}

/** A block diff is invalid. The message names the block, if it is known, and the difference. */
export class BlockDiffError extends Error {
  override readonly name = 'BlockDiffError'
}

const packr = new Packr({ useRecords: false })

export function encodeBlockDiff(parts: BlockDiffParts): Uint8Array {
  const { hash, header, body, senders, receipts, blockAccessList, accounts, slots, code } = parts
  const packed = packr.pack([
    ...[hash, header, body, senders, receipts, accounts.flat(), slots.flat(), code],
    ...(blockAccessList === undefined ? [] : [blockAccessList]),
  ])
  const bytes = new Uint8Array(partsAt + packed.length)
  bytes[0] = blockDiffVersion
  bytes.set(checksumOf(packed), checksumAt)
  bytes.set(packed, partsAt)
  return bytes
}

/**
 * The inverse of {@link encodeBlockDiff}. The result shares the memory of `bytes`. Throws {@link BlockDiffError} for
 * other bytes.
 */
export function decodeBlockDiff(bytes: Uint8Array): BlockDiffParts {
  if (bytes[0] !== blockDiffVersion) {
    throw new BlockDiffError(
      `a block diff has the version ${bytes[0]}, this program reads ${blockDiffVersion}; run the same release everywhere`,
    )
  }
  const packed = bytes.subarray(partsAt)
  if (!equalBytes(checksumOf(packed), bytes.subarray(checksumAt, partsAt))) {
    throw new BlockDiffError('the checksum of a block diff is not that of its content')
  }
  const [hash, header, body, senders, receipts, accounts, slots, code, list] = unpackParts(packed)
  return {
    hash: oneOf(hash) as Hash32,
    header: oneOf(header),
    body: oneOf(body),
    senders: oneOf(senders),
    receipts: oneOf(receipts),
    ...(list === undefined ? {} : { blockAccessList: oneOf(list) }),
    accounts: pairsOf(accounts, addressBytes),
    slots: pairsOf(slots, slotKeyBytes),
    code: manyOf(code),
  }
}

/** The published parts of a canonical block; undefined if the store has no such block with its state. */
export function readBlockDiffParts(store: ChainReader, number: number): BlockDiffParts | undefined {
  const hash = store.readCanonicalHash(number)
  const block = hash && store.readBlock(hash, number)
  const body = hash && store.readBody(hash)
  const receipts = hash && store.readReceipts(hash)
  const replaced = store.readReplacedState(number)
  if (!block || !body || !receipts || !replaced) return undefined
  const accounts = changesOf(store, number, replaced.accounts)
  return {
    hash,
    header: block.header,
    body,
    senders: addressesOf(block.senders),
    receipts,
    blockAccessList: store.readBlockAccessList(hash),
    accounts,
    slots: changesOf(store, number, replaced.slots),
    code: newCodeOf((hash) => store.readCode(hash), replaced.accounts, accounts),
  }
}

function addressesOf(senders: Uint8Array): Uint8Array {
  const addresses = new Uint8Array((senders.length / senderBytes) * addressBytes)
  for (let from = 0, to = 0; from < senders.length; from += senderBytes, to += addressBytes) {
    addresses.set(senders.subarray(from, from + addressBytes), to)
  }
  return addresses
}

function changesOf(store: ChainReader, number: number, replaced: readonly Change[]): Change[] {
  return replaced.map(([key]) => {
    const value = store.readChangeIn(number, key)
    if (value === undefined) throw new Error(`block ${number} has no history of what it replaced`)
    return [key, value]
  })
}

/** The codes that accounts have after a block and did not have before; both lists name the same accounts. */
function newCodeOf(
  readCode: (hash: Hash32) => Uint8Array | undefined,
  before: readonly Change[],
  after: readonly Change[],
): Uint8Array[] {
  const found = new NewCode()
  for (const [index, [, row]] of before.entries()) found.add(accountOf(row), accountOf(after[index]?.[1]))
  return found.hashes().map((hash) => {
    const code = readCode(hash)
    if (code === undefined) throw new Error(`the code ${Buffer.from(hash).toString('hex')} is missing`)
    return code
  })
}

function accountOf(row: Uint8Array | undefined): Account | undefined {
  return row === undefined || row.length === 0 ? undefined : decodeAccount(row)
}

function unpackParts(packed: Uint8Array): readonly unknown[] {
  let parts: unknown
  try {
    parts = packr.unpack(packed)
  } catch (error) {
    throw new BlockDiffError(`a block diff cannot be decoded: ${(error as Error).message}`)
  }
  if (!Array.isArray(parts) || parts.length < 8 || parts.length > 9) {
    throw new BlockDiffError('a block diff does not have 8 or 9 parts')
  }
  return parts
}

function oneOf(part: unknown): Uint8Array {
  if (!(part instanceof Uint8Array)) throw new BlockDiffError('a part of a block diff is not bytes')
  return part
}

function manyOf(part: unknown): Uint8Array[] {
  if (!Array.isArray(part)) throw new BlockDiffError('a part of a block diff is not a list')
  return part.map(oneOf)
}

function pairsOf(part: unknown, keyBytes: number): Change[] {
  const flat = manyOf(part)
  const pairs: Change[] = []
  for (let at = 0; at < flat.length; at += 2) {
    const key = flat[at] as Uint8Array
    const value = flat[at + 1]
    if (key.length !== keyBytes || value === undefined) {
      throw new BlockDiffError(
        `a block diff has a change whose key is not ${keyBytes} bytes, or without a value`,
      )
    }
    pairs.push([key, value])
  }
  return pairs
}

function checksumOf(packed: Uint8Array): Uint8Array {
  return createHash('sha256').update(packed).digest()
}

/** Hashes of the code that accounts have after a block and did not have before, ascending, each once. */
export class NewCode {
  readonly #hashes = new Map<string, Hash32>()

  /** Adds one account before and after the block; undefined if there is none. */
  add(before: Account | undefined, after: Account | undefined): void {
    if (after === undefined || equalBytes(after.codeHash, emptyCodeHash)) return
    if (before !== undefined && equalBytes(before.codeHash, after.codeHash)) return
    this.#hashes.set(latin1Key(after.codeHash), after.codeHash)
  }

  hashes(): Hash32[] {
    return [...this.#hashes.values()].sort(Buffer.compare)
  }
}
