/** Finds the access list of a message: runs it with the list found so far until a run accesses exactly that list. */
import { isDeepStrictEqual } from 'node:util'
import { latin1Key, latin1KeyToBytes } from '../../../primitives/bytes.js'
import type { Precompiles } from '../precompiles/precompileMoves.js'
import type { SignedAuthorization } from '../transactions/authorizations.js'
import { creationAddress } from '../transactions/creationAddress.js'
import { AccessRecorder } from './accessRecorder.js'
import type { AccessListEntry, CallMessage } from './executionRequest.js'
import type { RunOutcome } from './messageCall.js'

interface FoundAccesses {
  readonly accessList: readonly AccessListEntry[]
  /** Outcome of the run with this list. */
  readonly outcome: RunOutcome
}

/** Addresses that are warm without being listed. `nonce` is the sender's, for the address of a creation. */
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

/** Entries of `given` stay even if not accessed, as in go-ethereum, but for excluded addresses. */
export function listAccesses(
  given: readonly AccessListEntry[],
  excluded: ReadonlySet<string>,
  run: (accessList: readonly AccessListEntry[], accesses: AccessRecorder) => RunOutcome,
): FoundAccesses {
  let found = recorderOf(given, excluded)
  for (;;) {
    const accessList = toList(found)
    const recorder = recorderOf(accessList, excluded)
    const outcome = run(accessList, recorder)
    if (isDeepStrictEqual(recorder.touched, found.touched)) return { accessList, outcome }
    found = recorder
  }
}

function recorderOf(list: readonly AccessListEntry[], excluded: ReadonlySet<string>): AccessRecorder {
  const recorder = new AccessRecorder(excluded)
  for (const { address, storageKeys } of list) {
    if (excluded.has(latin1Key(address))) continue
    recorder.touchAddress(address)
    for (const slot of storageKeys) recorder.touchSlot(address, slot)
  }
  return recorder
}

/** Sorted, so that equal messages have equal lists. */
function toList({ touched }: AccessRecorder): AccessListEntry[] {
  const byKey = (a: string, b: string): number => (a < b ? -1 : 1)
  const toBytes = (key: string): Uint8Array => Uint8Array.from(latin1KeyToBytes(key))
  return [...touched.keys()].sort(byKey).map((address) => ({
    address: toBytes(address),
    storageKeys: [...(touched.get(address) ?? [])].sort(byKey).map(toBytes),
  }))
}
