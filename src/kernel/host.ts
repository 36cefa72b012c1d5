/**
 * What the kernel asks the host for, all of it synchronous. Bytes cross through `exchange` (layout.ts), numbers and
 * hashes the most significant byte first.
 */

/** Why a run was stopped. The host reads it after the trap, and clears the kernel. */
export enum StopReason {
  None = 0,
  /** It would take more memory than a run may have. */
  Memory = 1,
  /** The host wanted it to stop. */
  Host = 2,
}

export let stopReason: StopReason = StopReason.None

export function clearStopReason(): void {
  stopReason = StopReason.None
}

/** Ends the run by a trap. What it leaves behind is of no use. */
export function stop(reason: StopReason): void {
  stopReason = reason
  unreachable()
}

/**
 * The account whose address (20 bytes) is in the exchange. Leaves nonce (8 bytes), balance (32), code hash (32) and
 * a byte that says whether it has storage there, and returns whether there is such an account. Also leaves, at 73, a byte
 * that says whether each transaction finds it warm, and at 76 the number (4 bytes, least significant first) of its
 * precompiled contract.
 */
@external('host', 'readAccount')
export declare function readAccount(): bool

/** The slot at address ‖ key (20 + 32 bytes) of the exchange. Leaves its value (32) there; false for zero. */
@external('host', 'readSlot')
export declare function readSlot(): bool

/**
 * Code by its hash in the exchange. Asks for its place with `placeCode`, writes it there, and returns that place.
 */
@external('host', 'readCode')
export declare function readCode(): usize

/** Hash of an ancestor. Leaves it in the exchange; false where there is none. */
@external('host', 'readBlockHash')
export declare function readBlockHash(number: u64): bool

/**
 * Runs precompiled contract `id` on input at an address. Leaves its output where `placeOutput` says, and returns the
 * gas that it used; -1 for a failure, which takes all.
 */
@external('host', 'runPrecompile')
export declare function runPrecompile(id: u32, input: usize, length: usize, gas: i64): i64

/** Asked every now and then: whether the run may go on. */
@external('host', 'mayGoOn')
export declare function mayGoOn(): bool
