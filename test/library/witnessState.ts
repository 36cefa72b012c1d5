/** The state in an execution witness. */
import type { StateView } from '../../src/data/state/stateView.js'
import { trieState } from '../../src/data/state/trieState.js'
import { hashedTries } from '../../src/data/state/tries.js'
import { bytesToHex, type Hash32, hexToBytes } from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'

/** The result of debug_executionWitness. */
export interface Witness {
  // biome-ignore lint/suspicious/noExplicitAny: JSON.
  readonly headers: readonly any[]
  readonly codes: readonly string[]
  readonly state: readonly string[]
  readonly keys: null
}

/** Reading data that is not in the witness is an error. */
export function witnessState({ codes, state }: Witness, stateRoot: Hash32, parentHash: Hash32): StateView {
  const byHash = (rows: readonly string[]) =>
    new Map(rows.map((row) => [bytesToHex(keccak256(hexToBytes(row))), hexToBytes(row)]))
  const nodes = byHash(state)
  const code = byHash(codes)
  const reads = {
    readCode(hash: Hash32) {
      const found = code.get(bytesToHex(hash))
      if (found === undefined) throw new Error(`code ${bytesToHex(hash)} is not in the witness`)
      return found
    },
  }
  const tries = hashedTries((hash) => nodes.get(bytesToHex(hash)))
  return { ...trieState(reads, stateRoot, parentHash, tries), slotsOf: () => [] }
}
