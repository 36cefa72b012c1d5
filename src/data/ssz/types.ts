/**
 * SSZ types: reading and writing their bytes, the JSON of the Beacon API, roots and branches (consensus specifications,
 * ssz/simple-serialize.md and ssz/merkle-proofs.md). Only types of light client messages. Does not use Node.js modules,
 * so that browsers can run it. A root of 512 public keys takes 3 ms.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'

/** Bytes or JSON that do not match a type. The message names the member. */
export class SszError extends Error {
  override readonly name = 'SszError'
}

export interface SszType<T> {
  /** Length of the encoding in bytes; undefined if it varies. */
  readonly size: number | undefined
  /** Decodes exactly these bytes, which the value may share. Throws {@link SszError}. */
  read(bytes: Uint8Array): T
  write(value: T): Uint8Array
  /** Throws {@link SszError}. */
  fromJson(json: unknown): T
  /** `hash_tree_root` of a value, 32 bytes. */
  root(value: T): Uint8Array
}

export interface ContainerType<T> extends SszType<T> {
  /** The hashes that prove a member against the root, from the leaf upwards. */
  branchOf(value: T, member: keyof T): Uint8Array[]
}

const chunkBytes = 32
const zeroChunk = new Uint8Array(chunkBytes)
/** Bytes of the offset of a member with varying length. */
const offsetBytes = 4

/** SHA-256 of two hashes, one after the other. */
export function hashPair(left: Uint8Array, right: Uint8Array): Uint8Array {
  const pair = new Uint8Array(2 * chunkBytes)
  pair.set(left)
  pair.set(right, chunkBytes)
  return sha256(pair)
}

/** The root of a branch from a leaf with this generalized index; `branch` has a hash for each level. */
export function branchRoot(leaf: Uint8Array, branch: readonly Uint8Array[], gindex: number): Uint8Array {
  let node = leaf
  let place = gindex
  for (const sibling of branch) {
    node = place % 2 === 0 ? hashPair(node, sibling) : hashPair(sibling, node)
    place = Math.floor(place / 2)
  }
  return node
}

/** The levels of the tree over chunks, leaves first; missing leaves are zero. */
function levelsOf(chunks: readonly Uint8Array[], depth: number): Uint8Array[][] {
  const levels = [[...chunks]]
  let zero: Uint8Array = zeroChunk
  for (let level = 0; level < depth; level++) {
    const below = levels[level] as Uint8Array[]
    const above: Uint8Array[] = []
    for (let at = 0; at < below.length; at += 2) {
      above.push(hashPair(below[at] as Uint8Array, below[at + 1] ?? zero))
    }
    zero = hashPair(zero, zero)
    if (above.length === 0) above.push(zero)
    levels.push(above)
  }
  return levels
}

function merkleize(chunks: readonly Uint8Array[], depth = depthOf(chunks.length)): Uint8Array {
  return levelsOf(chunks, depth).at(-1)?.[0] ?? zeroChunk
}

function depthOf(leaves: number): number {
  return Math.ceil(Math.log2(Math.max(leaves, 1)))
}

function chunksOf(bytes: Uint8Array): Uint8Array[] {
  const chunks: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const chunk = new Uint8Array(chunkBytes)
    chunk.set(bytes.subarray(at, at + chunkBytes))
    chunks.push(chunk)
  }
  return chunks
}

/** Bytes of an unsigned integer, little-endian. */
function littleEndian(value: bigint, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let rest = value
  for (let at = 0; at < length; at++, rest >>= 8n) bytes[at] = Number(rest & 0xffn)
  return bytes
}

function requireSize(bytes: Uint8Array, size: number): void {
  if (bytes.length !== size) throw new SszError(`${bytes.length} bytes, expected ${size}`)
}

/** `uint64`, `uint256`: an integer of `size` bytes. In JSON a decimal string. */
export function uint(size: number): SszType<bigint> {
  return {
    size,
    read(bytes) {
      requireSize(bytes, size)
      return BigInt(`0x${bytesToHex(Uint8Array.from(bytes).reverse())}`)
    },
    write: (value) => littleEndian(value, size),
    fromJson(json) {
      if (typeof json !== 'string' || !/^[0-9]{1,78}$/.test(json) || BigInt(json) >> BigInt(8 * size) > 0n) {
        throw new SszError(`no integer of ${size} bytes`)
      }
      return BigInt(json)
    },
    root: (value) => littleEndian(value, chunkBytes),
  }
}

const uint64 = uint(8)

/** `uint64` that is a slot or an index: below 2^53. */
export const integer: SszType<number> = {
  size: 8,
  read: (bytes) => safe(uint64.read(bytes)),
  write: (value) => littleEndian(BigInt(value), 8),
  fromJson: (json) => safe(uint64.fromJson(json)),
  root: (value) => littleEndian(BigInt(value), chunkBytes),
}

function safe(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new SszError(`${value} is too large`)
  return Number(value)
}

function bytesOfJson(json: unknown): Uint8Array {
  if (typeof json !== 'string' || !/^0x(?:[0-9a-fA-F]{2})*$/.test(json)) throw new SszError('no hex')
  return hexToBytes(json.slice(2))
}

/** `ByteVector[size]`, and the bits of a `Bitvector[8 * size]`. */
export function byteVector(size: number): SszType<Uint8Array> {
  const read = (bytes: Uint8Array) => {
    requireSize(bytes, size)
    return bytes
  }
  return {
    size,
    read,
    write: (value) => value,
    fromJson: (json) => read(bytesOfJson(json)),
    root: (value) => (size === chunkBytes ? value : merkleize(chunksOf(value))),
  }
}

/** `ByteList[bytesMax]`. */
export function byteList(bytesMax: number): SszType<Uint8Array> {
  const depth = depthOf(Math.ceil(bytesMax / chunkBytes))
  const read = (bytes: Uint8Array) => {
    if (bytes.length > bytesMax) throw new SszError(`${bytes.length} bytes, expected at most ${bytesMax}`)
    return bytes
  }
  return {
    size: undefined,
    read,
    write: (value) => value,
    fromJson: (json) => read(bytesOfJson(json)),
    root: (value) =>
      hashPair(merkleize(chunksOf(value), depth), littleEndian(BigInt(value.length), chunkBytes)),
  }
}

/** `Vector` of `length` elements of a fixed size that are not numbers. */
export function vector<T>(element: SszType<T>, length: number): SszType<readonly T[]> {
  const each = element.size as number
  return {
    size: each * length,
    read(bytes) {
      requireSize(bytes, each * length)
      return Array.from({ length }, (_, at) => element.read(bytes.subarray(at * each, (at + 1) * each)))
    },
    write: (value) => join(value.map((one) => element.write(one))),
    fromJson(json) {
      if (!Array.isArray(json) || json.length !== length) throw new SszError(`no list of ${length}`)
      return json.map((one) => element.fromJson(one))
    },
    root: (value) => merkleize(value.map((one) => element.root(one))),
  }
}

/** `Container`, with members in their order. In JSON `aMember` is `a_member`. */
export function container<V extends object>(
  fields: {
    readonly [K in keyof V]: SszType<V[K]>
  },
): ContainerType<Readonly<V>> {
  const names = Object.keys(fields) as (keyof V & string)[]
  const types = names.map((name) => fields[name] as SszType<unknown>)
  const fixedBytes = types.reduce((sum, { size }) => sum + (size ?? offsetBytes), 0)
  const isFixed = types.every(({ size }) => size !== undefined)
  const leaves = (value: V) => types.map((type, index) => type.root(value[names[index] as keyof V]))
  const build = (read: (type: SszType<unknown>, index: number) => unknown) =>
    Object.fromEntries(
      types.map((type, index) => [names[index], within(names[index], () => read(type, index))]),
    )
  return {
    size: isFixed ? fixedBytes : undefined,
    read(bytes) {
      if (isFixed) requireSize(bytes, fixedBytes)
      const spans = findSpans(bytes, types, fixedBytes)
      return build((type, index) => type.read(bytes.subarray(...(spans[index] as Span)))) as V
    },
    write(value) {
      const parts = types.map((type, index) => type.write(value[names[index] as keyof V]))
      let end = fixedBytes
      const heads = parts.map((part, index) => {
        if (types[index]?.size !== undefined) return part
        const offset = littleEndian(BigInt(end), offsetBytes)
        end += part.length
        return offset
      })
      return join([...heads, ...parts.filter((_, index) => types[index]?.size === undefined)])
    },
    fromJson(json) {
      if (typeof json !== 'object' || json === null) throw new SszError('no object')
      return build((type, index) => {
        const name = names[index]?.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as string
        return type.fromJson(Object.hasOwn(json, name) ? (json as Record<string, unknown>)[name] : undefined)
      }) as V
    },
    root: (value) => merkleize(leaves(value)),
    branchOf(value, member) {
      const depth = depthOf(names.length)
      let place = names.indexOf(member as keyof V & string)
      let zero: Uint8Array = zeroChunk
      return levelsOf(leaves(value), depth)
        .slice(0, depth)
        .map((level) => {
          const sibling = level[place ^ 1] ?? zero
          place >>= 1
          zero = hashPair(zero, zero)
          return sibling
        })
    },
  }
}

type Span = readonly [start: number, end: number]

/** Positions of a container's members. Members of varying length follow the fixed part, in order. */
function findSpans(bytes: Uint8Array, types: readonly SszType<unknown>[], fixedBytes: number): Span[] {
  if (bytes.length < fixedBytes) throw new SszError(`${bytes.length} bytes, expected ${fixedBytes} or more`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const spans: Span[] = []
  let at = 0
  let last: number | undefined
  for (const { size } of types) {
    if (size === undefined) {
      const start = view.getUint32(at, true)
      const before = last === undefined ? undefined : (spans[last] as Span)[0]
      if (before === undefined ? start !== fixedBytes : start < before || start > bytes.length) {
        throw new SszError(`a member at byte ${start}`)
      }
      if (last !== undefined) spans[last] = [before as number, start]
      last = spans.length
      spans.push([start, bytes.length])
    } else spans.push([at, at + size])
    at += size ?? offsetBytes
  }
  return spans
}

function within<T>(name: string | undefined, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof SszError) throw new SszError(`${name}: ${error.message}`)
    throw error
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
