/** Shared parts of tests of simulations on the demo chain. */
import type { Test } from 'tap'
import { bytesToHex } from '../../src/primitives/bytes.js'
import { assemble, type Item } from '../unit/execution/evm/assembly.js'
import { findBadHex, hashOfBlockJson } from './blockOracle.js'
import type { Json } from './demoChain.js'

/** An address without an account. */
export const person = (digit: string): string => `0x${digit.repeat(40)}`
export const word = (value: bigint | number): string => `0x${value.toString(16).padStart(64, '0')}`
export const code = (...items: readonly Item[]): string => bytesToHex(assemble(...items))

/** Code that sends ether to `to` by a call without data. */
export function sending(to: string, wei: number): Uint8Array {
  return assemble(0, 0, 0, 0, wei, BigInt(to), 'GAS', 'CALL', 'POP')
}

/** Checks simulated blocks against their own hashes and each other. */
export function checkBlocks(t: Test, blocks: readonly Json[]): void {
  const breach = findBreach(blocks)
  t.equal(breach, undefined)
}

/** The first fault of simulated blocks; undefined if there is none. */
export function findBreach(blocks: readonly Json[]): string | undefined {
  // Compares without error messages, the only texts that may differ.
  const withoutErrors = blocks.map(({ calls, ...block }) => ({
    ...block,
    calls: (calls as Json[]).map(({ error, ...call }) => call),
  }))
  const [bad] = findBadHex(withoutErrors)
  if (bad !== undefined) return bad
  for (const [at, block] of blocks.entries()) {
    if (block.hash !== hashOfBlockJson(block)) return `hash of block ${at}`
    const before = blocks[at - 1]
    if (before !== undefined) {
      if (block.parentHash !== before.hash) return `parent of block ${at}`
      if (Number(block.number) !== Number(before.number) + 1) return `number of block ${at}`
      if (Number(block.timestamp) <= Number(before.timestamp)) return `time of block ${at}`
    }
    const calls = block.calls as Json[]
    const gas = calls.reduce((sum, { gasUsed }) => sum + Number(gasUsed), 0)
    if (Number(block.gasUsed) !== gas) return `gas of block ${at}`
    if ((block.transactions as unknown[]).length !== calls.length) return `transactions of block ${at}`
  }
  return undefined
}
