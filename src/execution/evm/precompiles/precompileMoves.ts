import type { ForkName } from '../../../data/chain/forks.js'
import { toChecksumAddress } from '../../../primitives/addresses.js'
import { latin1Key } from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { PrecompileSet } from '../engine/kernelHost.js'
import type { AccountOverride } from '../messages/executionRequest.js'
import { precompileAddress, precompileNumbers, precompileRuns } from './precompiles.js'

/** Numbers of precompiled contracts by address, by {@link latin1Key}. */
export type Precompiles = ReadonlyMap<string, number>

const own = new Map<ForkName, Precompiles>()

/** The contracts of a fork without overrides. */
export function ownPrecompiles(fork: ForkName): Precompiles {
  let found = own.get(fork)
  if (found === undefined) {
    found = new Map(precompileNumbers(fork).map((number) => [latin1Key(precompileAddress(number)), number]))
    own.set(fork, found)
  }
  return found
}

/** The contracts of a fork for the kernel. Blocks are executed without a watch. */
export function forkPrecompiles(fork: ForkName, watch: JobWatch | undefined): PrecompileSet {
  const numbers = ownPrecompiles(fork)
  return { numbers, warm: numbers, runs: precompileRuns(fork, watch) }
}

/**
 * The precompiled contracts after overrides: an overridden one becomes an ordinary account, a moved one answers at its
 * new address. Throws FaultError for moving any other account, and for a move to an overridden account.
 */
export function movePrecompiles(own: Precompiles, overrides: readonly AccountOverride[]): Precompiles {
  if (overrides.length === 0) return own
  const moved = new Map(own)
  const overridden = new Set(overrides.map(({ address }) => latin1Key(address)))
  // In go-ethereum's order, so that the same one of two moves to one address is the last.
  const inOrder = [...overrides].sort((a, b) => Buffer.compare(a.address, b.address))
  for (const { address, movePrecompileTo: target } of inOrder) {
    const from = latin1Key(address)
    const contract = own.get(from)
    if (target !== undefined) {
      const to = latin1Key(target)
      if (contract === undefined)
        throw messageRefused(`account ${toChecksumAddress(address)} is not a precompile`)
      if (overridden.has(to)) {
        throw messageRefused(`account ${toChecksumAddress(target)} is already overridden`)
      }
      moved.set(to, contract)
    }
    if (contract !== undefined) moved.delete(from)
  }
  return moved
}
