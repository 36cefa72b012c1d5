/**
 * The demo chain from its files, read by code that shares nothing with the service. Owns no expectations: those are in
 * the oracles beside it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RLP } from '@ethereumjs/rlp'
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Examples } from '../../data/devnet/examples.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'

/** An object of an answer. */
export type Json = Record<string, unknown>

export type Raw = Uint8Array | readonly Raw[]

export interface DemoTransaction {
  /** The hashed bytes: an RLP list, or a type byte and an RLP list. */
  readonly bytes: Uint8Array
  readonly type: number
  readonly fields: readonly Raw[]
  readonly hash: string
}

export interface DemoBlock {
  readonly number: number
  readonly hash: string
  /** Length of its RLP. */
  readonly size: number
  readonly header: readonly Uint8Array[]
  readonly transactions: readonly DemoTransaction[]
  readonly uncles: readonly (readonly Uint8Array[])[]
  /** Undefined before Shanghai. */
  readonly withdrawals: readonly (readonly Uint8Array[])[] | undefined
  readonly totalDifficulty: bigint
}

export const devnetDir = join(packageRoot(), 'data/devnet')
export const genesisPath = join(devnetDir, 'genesis.json')
export const chainPath = join(devnetDir, 'chain.rlp')

export const examples: Examples = JSON.parse(readFileSync(join(devnetDir, 'examples.json'), 'utf8'))
export const genesis: {
  readonly difficulty: string
  readonly config: {
    readonly blobSchedule: Readonly<Record<string, { readonly baseFeeUpdateFraction: number }>>
  } & Readonly<Record<string, unknown>>
} = JSON.parse(readFileSync(genesisPath, 'utf8'))

export function hex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

export function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.slice(2), 'hex'))
}

/** The shortest bytes of a hex quantity. */
export function minimalBytes(text: string): Uint8Array {
  const digits = BigInt(text) === 0n ? '' : BigInt(text).toString(16)
  return bytesOf(`0x${digits.length % 2 === 0 ? '' : '0'}${digits}`)
}

export function keccak(bytes: Uint8Array): string {
  return hex(keccak_256(bytes))
}

/** Bytes as an integer; zero for none. */
export function integer(bytes: Uint8Array): bigint {
  return BigInt(bytes.length === 0 ? '0x0' : hex(bytes))
}

export function quantity(value: bigint | number | Uint8Array): string {
  return `0x${(value instanceof Uint8Array ? integer(value) : value).toString(16)}`
}

export function encode(raw: Raw): Uint8Array {
  return RLP.encode(raw as Uint8Array)
}

/** The blocks of a chain file as bytes, one after another. */
function splitFile(bytes: Uint8Array): Uint8Array[] {
  const blocks: Uint8Array[] = []
  let rest = bytes
  while (rest.length > 0) {
    const { remainder } = RLP.decode(rest, true)
    blocks.push(rest.slice(0, rest.length - remainder.length))
    rest = remainder
  }
  return blocks
}

export function decodeTransaction(raw: Raw): DemoTransaction {
  const bytes = raw instanceof Uint8Array ? raw : encode(raw)
  const type = raw instanceof Uint8Array ? (raw[0] as number) : 0
  const fields = raw instanceof Uint8Array ? (RLP.decode(raw.slice(1)) as Raw[]) : raw
  return { bytes, type, fields, hash: keccak(bytes) }
}

/** Decodes a block's RLP. */
export function decodeBlock(bytes: Uint8Array, parentTotalDifficulty: bigint): DemoBlock {
  const [header, transactions, uncles, withdrawals] = RLP.decode(bytes) as unknown as [
    Uint8Array[],
    Raw[],
    Uint8Array[][],
    Uint8Array[][] | undefined,
  ]
  return {
    number: Number(integer(header[8] as Uint8Array)),
    hash: keccak(encode(header)),
    size: bytes.length,
    header,
    transactions: transactions.map(decodeTransaction),
    uncles,
    withdrawals,
    totalDifficulty: parentTotalDifficulty + integer(header[7] as Uint8Array),
  }
}

/** The bytes of blocks 1 to the head; index 0 is block 1. */
export const blockBytes: readonly Uint8Array[] = splitFile(readFileSync(chainPath))

/** Blocks 1 to the head; genesis, which is in no chain file, has its hash in `examples`. */
export const blocks: readonly DemoBlock[] = blockBytes.reduce<DemoBlock[]>((known, bytes) => {
  known.push(decodeBlock(bytes, known.at(-1)?.totalDifficulty ?? BigInt(genesis.difficulty)))
  return known
}, [])

export const headBlock = blocks.at(-1) as DemoBlock

/** A canonical block by its number, from 1. */
export function blockAt(number: number): DemoBlock {
  const block = blocks[number - 1]
  if (block === undefined) throw new RangeError(`the demo chain has no block ${number}`)
  return block
}

/** Address of an account or a contract by its name in `examples`. */
export function addressOf(name: string): `0x${string}` {
  const found = [...examples.contracts, ...examples.accounts].find((each) => each.name === name)
  if (found === undefined) throw new RangeError(`nothing is called ${name}`)
  return found.address as `0x${string}`
}

/** First block of a fork. */
export function forkBlock(name: string): number {
  const fork = examples.forks.find((each) => each.name === name)
  if (fork === undefined) throw new RangeError(`the demo chain has no fork ${name}`)
  return fork.block
}

/** A hash that no block has. */
export const unknownHash = `0x${'5e'.repeat(32)}`
