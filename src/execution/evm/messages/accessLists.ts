/** Finds the access list of a message: runs it with the list found so far until a run accesses exactly that list. */
import { isDeepStrictEqual } from 'node:util'
import { creationAddress } from '../../../primitives/addresses.js'
import { latin1Key, latin1KeyToBytes } from '../../../primitives/bytes.js'
import type { Precompiles } from '../precompiles/precompileMoves.js'
import type { SignedAuthorization } from '../transactions/authorizations.js'
import type { AccessListEntry, CallMessage } from './executionRequest.js'
import type { RunOutcome } from './messageCall.js'

interface FoundAccesses {
  readonly accessList: readonly AccessListEntry[]
  /** Outcome of the run with this list. */
  readonly outcome: RunOutcome
}

/** Addresses that are warm without an entry in the list. `nonce` is the sender's, for the address of a creation. */
export function excludedAddresses(
  message: CallMessage,
  precompiles: Precompiles,
  authorizations: readonly SignedAuthorization[],
  nonce: bigint,
): ReadonlySet<string> {
  const sender = message.from ?? new Uint8Array(20)
  const recipient = message.to ?? creationAddress(sender, nonce)
  const excluded = new Set([latin1Key(sender), latin1Key(recipient)])
  for (const key of precompiles.keys()) excluded.add(key)
  for (const { authority } of authorizations) excluded.add(latin1Key(authority))
  return excluded
}

/** Entries of `given` stay even if not accessed, as in go-ethereum, except for excluded addresses. */
export function listAccesses(
  given: readonly AccessListEntry[],
  excluded: ReadonlySet<string>,
  run: (accessList: readonly AccessListEntry[]) => RunOutcome,
): FoundAccesses {
  let found: Touched = new Map()
  touchListed(found, given, excluded)
  for (;;) {
    const accessList = toList(found)
    const outcome = run(accessList)
    const touched: Touched = new Map()
    touchListed(touched, accessList, excluded)
    const { addresses, slots } = outcome.accesses
    for (const address of addresses) if (!excluded.has(latin1Key(address))) slotsOf(touched, address)
    // An excluded address is listed if one of its slots is accessed.
    for (const [address, slot] of slots) slotsOf(touched, address).add(latin1Key(slot))
    if (isDeepStrictEqual(touched, found)) return { accessList, outcome }
    found = touched
  }
}

/** Addresses with their slots, by {@link latin1Key}. */
type Touched = Map<string, Set<string>>

function touchListed(
  touched: Touched,
  list: readonly AccessListEntry[],
  excluded: ReadonlySet<string>,
): void {
  for (const { address, storageKeys } of list) {
    if (excluded.has(latin1Key(address))) continue
    const slots = slotsOf(touched, address)
    for (const slot of storageKeys) slots.add(latin1Key(slot))
  }
}

function slotsOf(touched: Touched, address: Uint8Array): Set<string> {
  const key = latin1Key(address)
  const slots = touched.get(key) ?? new Set()
  touched.set(key, slots)
  return slots
}

/** Sorted, so that equal messages have equal lists. */
function toList(touched: Touched): AccessListEntry[] {
  const toBytes = (key: string): Uint8Array => Uint8Array.from(latin1KeyToBytes(key))
  return [...touched.keys()].sort().map((address) => ({
    address: toBytes(address),
    storageKeys: [...(touched.get(address) ?? [])].sort().map(toBytes),
  }))
}
