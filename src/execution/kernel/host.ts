/**
 * Imports from the host, all synchronous. Bytes are passed through `exchange` (layout.ts), numbers and hashes
 * big-endian.
 */

/** Reason why a run was stopped. The host reads it after the trap, and clears the kernel. */
export enum StopReason {
  None = 0,
  /** The run would exceed its memory limit. */
  Memory = 1,
  /** The host asked to stop. */
  Host = 2,
}

export let stopReason: StopReason = StopReason.None

export function clearStopReason(): void {
  stopReason = StopReason.None
}

/** Ends the run by a trap. The kernel's state is invalid afterwards. */
export function stop(reason: StopReason): void {
  stopReason = reason
  unreachable()
}

/**
 * Reads the account whose address (20 bytes) is in the exchange; returns whether it exists. Writes to the exchange its
 * nonce (8 bytes), balance (32), code hash (32), and a byte for whether it has storage. Byte 73 is set if each
 * transaction finds it warm. At 76 is the number (4 bytes, little-endian) of its precompiled contract.
 */
@external('host', 'readAccount')
export declare function readAccount(): bool

/** Reads the slot at address ‖ key (20 + 32 bytes) of the exchange. Writes its value (32) there; false for zero. */
@external('host', 'readSlot')
export declare function readSlot(): bool

/**
 * Reads code by the hash in the exchange. The host calls `placeCode`, writes the code there, and returns the address.
 */
@external('host', 'readCode')
export declare function readCode(): usize

/** Writes the hash of an ancestor to the exchange; false if there is none. */
@external('host', 'readBlockHash')
export declare function readBlockHash(number: u64): bool

/**
 * Runs precompiled contract `id` on `length` bytes at `input`. Writes its output to the address that `placeOutput`
 * returns. Returns the gas used, or -1 for a failure, which uses all gas.
 */
@external('host', 'runPrecompile')
export declare function runPrecompile(id: u32, input: usize, length: usize, gas: i64): i64

/**
 * Called at intervals, and before work on many bytes; returns whether the run may continue. `steps` is the time since
 * the last interval, or of that work, in steps of about 0.1 µs.
 */
@external('host', 'mayGoOn')
export declare function mayGoOn(steps: u32): bool
