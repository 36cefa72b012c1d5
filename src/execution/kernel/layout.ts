/**
 * The map of linear memory: everything at a fixed address. Data of variable size comes from the heap (heap.ts), which
 * begins where this map ends. Pages that are never used take no memory. The compiler's data is below this map.
 */

// Operands of division: 17, 8 and 17 digits of 32 bits.
export const dividendDigits: usize = 0x1400
export const divisorDigits: usize = 0x1480
export const quotientDigits: usize = 0x14c0

/** 25 lanes. */
export const keccakState: usize = 0x1540

/** Eight words for use within one instruction. */
export const scratchWords: usize = 0x1640

/** The outcome of a run, 64 bytes, which the host reads; `report` in index.ts writes it. */
export const outcome: usize = 0x1740

/** Data passed between host and kernel in one call: 512 bytes. */
export const exchange: usize = 0x1800

/** Free blocks of the heap: one list per power of two. */
export const freeBlocks: usize = 0x1a00

/** Words of the block and the transaction; see context.ts. */
export const contextWords: usize = 0x1b00

/** Eight bytes per opcode; see rules.ts. */
export const opcodeTable: usize = 0x2000

/** Hashes of inputs of 64 bytes: 1,024 entries of 96 bytes. */
export const keccakCache: usize = 0x3000

/** Call frames: {@link frameBytes} for each depth, 0 to 1,024; see frames.ts. */
export const frames: usize = 0x20000
export const frameBytes: usize = 256

/** Operand stacks of all frames, one after another: at most 1,025 times 1,024 words. */
export const stacks: usize = 0x80000

export const heapStart: usize = stacks + 1025 * 1024 * 32
