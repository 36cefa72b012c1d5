/**
 * The map of linear memory: what lies at a fixed address. Everything that grows comes from the heap (heap.ts), which
 * begins where this map ends. Pages that are never touched cost nothing. Below lies what the compiler puts there.
 */

// Digits of 32 bits that division works on: 17, 8 and 17 of them.
export const dividendDigits: usize = 0x1400
export const divisorDigits: usize = 0x1480
export const quotientDigits: usize = 0x14c0

/** 25 lanes. */
export const keccakState: usize = 0x1540

/** Words for whoever needs some within one instruction: 8. */
export const scratchWords: usize = 0x1640

/** What the host and the kernel hand each other in one call: 512 bytes. */
export const exchange: usize = 0x1800

/** Blocks of the heap that are free: a list for each power of two. */
export const freeBlocks: usize = 0x1a00

/** Words of the block and the transaction; see context.ts. */
export const contextWords: usize = 0x1b00

/** For each opcode 8 bytes; see rules.ts. */
export const opcodeTable: usize = 0x2000

/** Hashes of inputs of 64 bytes: 1,024 entries of 96 bytes. */
export const keccakCache: usize = 0x3000

/** Call frames: {@link frameBytes} for each depth, 0 to 1,024; see frames.ts. */
export const frames: usize = 0x20000
export const frameBytes: usize = 256

/** Operand stacks of all frames, one above the other: 1,025 times 1,024 words at most. */
export const stacks: usize = 0x80000

/** Where the heap begins. */
export const heapStart: usize = stacks + 1025 * 1024 * 32
