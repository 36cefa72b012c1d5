import type { PrecompileFunc } from '@ethereumjs/evm'
import { hexDigits } from '../primitives/bytes.js'
import { toChecksumAddress } from '../primitives/checksumAddress.js'
import { FaultError } from '../primitives/faults.js'
import type { AccountOverride } from './execution.js'

/** Precompiled contracts by address, hex digits. */
export type Precompiles = ReadonlyMap<string, PrecompileFunc>

/**
 * Precompiled contracts as overrides leave them: one that is overridden becomes an ordinary account, one that is
 * moved answers elsewhere. Throws FaultError for a move of what is none, and for one onto an overridden account.
 */
export function movePrecompiles(own: Precompiles, overrides: readonly AccountOverride[]): Precompiles {
  if (overrides.length === 0) return own
  const moved = new Map(own)
  const overridden = new Set(overrides.map(({ address }) => hexDigits(address)))
  // In go-ethereum's order, so that the last of two moves to one place is the same.
  const inOrder = [...overrides].sort((a, b) => Buffer.compare(a.address, b.address))
  for (const { address, movePrecompileTo: target } of inOrder) {
    const from = hexDigits(address)
    const contract = own.get(from)
    if (target !== undefined) {
      const to = hexDigits(target)
      if (contract === undefined) throw refused(`account ${toChecksumAddress(address)} is not a precompile`)
      if (overridden.has(to)) {
        throw refused(`account ${toChecksumAddress(target)} is already overridden`)
      }
      moved.set(to, contract)
    }
    if (contract !== undefined) moved.delete(from)
  }
  return moved
}

function refused(why: string): FaultError {
  return new FaultError({ kind: 'MessageRefused', why })
}
