/** Facts about the demo chain for requests. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AbiValue, encodeCall } from '../../data/devnet/abi.js'
import type { Examples } from '../../data/devnet/examples.js'
import { bytesToHex } from '../../src/primitives/bytes.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'

export const devnetFolder = join(packageRoot(), 'data/devnet')
const examples = JSON.parse(readFileSync(join(devnetFolder, 'examples.json'), 'utf8')) as Examples

function found<T>(what: string, value: T | undefined): T {
  if (value === undefined) throw new Error(`the demo chain has no ${what}`)
  return value
}

/** Address of an account or a contract of the demo chain. */
export function addressOf(name: string): string {
  const named = [...examples.accounts, ...examples.contracts].find((one) => one.name === name)
  return found(name, named).address
}

export const slots = examples.slots
export const transactionHashes = examples.transactions.map(({ hash }) => hash)
export const headNumber = examples.head.number
export const headStateRoot = examples.head.stateRoot
export const fullBlock = found(
  'block of 200',
  examples.blocks.find(({ transactions }) => transactions >= 200),
)
export const smallBlock = found(
  'block without transactions',
  examples.blocks.find(({ transactions, number }) => transactions <= 1 && number > 0),
)
export const uncleBlock = found(
  'block with uncles',
  examples.blocks.find(({ uncles }) => uncles > 0),
)

/** 64 hex digits with `0x`. */
export function word(value: number): string {
  return `0x${value.toString(16).padStart(64, '0')}`
}

/** Calldata of a Solidity call as hex. */
export function calldata(signature: string, values: readonly AbiValue[]): string {
  return bytesToHex(encodeCall(signature, values))
}
