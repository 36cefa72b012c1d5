/**
 * The rules that differ between forks: opcodes, their gas, and their stack use. Owns the table of opcodes and the
 * prices that depend on more than the opcode. Source: yellow paper, appendices G and H; rows and prices name their EIP,
 * if any.
 */
import { opcodeTable } from './layout'

/** Forks in the order in which they became active; numbers as in `chain/forkNames.ts`. */
export namespace Fork {
  export const Frontier: i32 = 0
  export const Homestead: i32 = 1
  export const TangerineWhistle: i32 = 3
  export const SpuriousDragon: i32 = 4
  export const Byzantium: i32 = 5
  export const Constantinople: i32 = 6
  export const Petersburg: i32 = 7
  export const Istanbul: i32 = 8
  export const Berlin: i32 = 10
  export const London: i32 = 11
  export const Paris: i32 = 14
  export const Shanghai: i32 = 15
  export const Cancun: i32 = 16
  export const Prague: i32 = 17
  export const Osaka: i32 = 18
  export const Amsterdam: i32 = 24
}

export let fork: i32 = -1

/** Whether the rules of a fork apply. */
@inline
export function has(since: i32): bool {
  return fork >= since
}

/** EXP, for each byte of the exponent (EIP-160). */
export let exponentByteGas: i64 = 0
/** SSTORE to a warm slot, besides the prices below (EIP-8038). */
export let warmWriteGas: i64 = 0
/** SSTORE to a slot that this transaction wrote before, or that keeps its value (EIP-1283, 2200, 2929). */
export let dirtySlotGas: i64 = 0
/** SSTORE that changes a slot from zero. */
export let setSlotGas: i64 = 0
/** SSTORE that changes a slot that was not zero (2929: without the cold access). */
export let resetSlotGas: i64 = 0
/** Refund for a slot that becomes zero (EIP-3529). */
export let clearedSlotRefund: i64 = 0
/** Refund for SELFDESTRUCT (EIP-3529: none). */
export let selfdestructRefund: i64 = 0

/** The first access to an account (EIP-2929, EIP-8038). */
export let coldAccountGas: i64 = 0
/** Gas of EXTCODESIZE and EXTCODECOPY for the code, besides the account (EIP-8038). */
export let codeAccessGas: i64 = 0
/** A call that sends value, including its stipend (EIP-8038). */
export let valueTransferGas: i64 = 0
/** A call (EIP-161), and SELFDESTRUCT, that makes an account exist. */
export let newAccountGas: i64 = 0
export let newHeirGas: i64 = 0

/** State gas of EIP-8037: an account and a slot that begin to exist, and a byte of code. */
export let newAccountStateGas: i64 = 0
export let newSlotStateGas: i64 = 0
export const codeByteStateGas: i64 = 1530

// EIP-2929.
export const warmAccessGas: i64 = 100
export const coldSlotGas: i64 = 2100

/** EIP-2200: SSTORE fails with this much gas or less. */
export const sstoreSentryGas: i64 = 2300
export const callStipend: i64 = 2300
export const codeByteGas: i64 = 200
export const hashWordGas: i64 = 6
export const copyWordGas: i64 = 3
export const logGas: i64 = 375
export const logTopicGas: i64 = 375
/** EXP, without the gas for each byte. */
export const exponentGas: i64 = 10
/** SELFDESTRUCT before Berlin, when it was not part of the opcode's gas (EIP-150). */
export const selfdestructGas: i64 = 5000
export const logByteGas: i64 = 8
/** EIP-3860: for each word of initcode. */
export const initcodeWordGas: i64 = 2
/** EIP-170, EIP-7954. */
export let codeBytesMax: u32 = 0
/** EIP-3860, EIP-7954. */
export let initcodeBytesMax: u32 = 0
export const depthMax: u32 = 1024

const stackMax: u32 = 1024

/**
 * First and last opcode, first fork, static gas, words taken, words left. Of several rows for an opcode, the last
 * applicable one counts. Static gas is the part that go-ethereum charges before it reads operands. It shows this part
 * as the cost of an instruction whose other gas could not be computed.
 */
const opcodes: StaticArray<u16> = [
  0x00, 0x00, 0, 0, 0, 0,
  0x01, 0x01, 0, 3, 2, 1,
  0x02, 0x02, 0, 5, 2, 1,
  0x03, 0x03, 0, 3, 2, 1,
  0x04, 0x07, 0, 5, 2, 1,
  0x08, 0x09, 0, 8, 3, 1,
  0x0a, 0x0a, 0, 0, 2, 1,
  0x0b, 0x0b, 0, 5, 2, 1,
  0x10, 0x14, 0, 3, 2, 1,
  0x15, 0x15, 0, 3, 1, 1,
  0x16, 0x18, 0, 3, 2, 1,
  0x19, 0x19, 0, 3, 1, 1,
  0x1a, 0x1a, 0, 3, 2, 1,
  0x1b, 0x1d, 6, 3, 2, 1, // EIP-145
  0x1e, 0x1e, 18, 5, 1, 1, // EIP-7939
  0x20, 0x20, 0, 30, 2, 1,
  0x30, 0x30, 0, 2, 0, 1,
  0x31, 0x31, 0, 20, 1, 1,
  0x31, 0x31, 3, 400, 1, 1, // EIP-150
  0x31, 0x31, 8, 700, 1, 1, // EIP-1884
  0x31, 0x31, 10, 100, 1, 1, // EIP-2929
  0x32, 0x34, 0, 2, 0, 1,
  0x35, 0x35, 0, 3, 1, 1,
  0x36, 0x36, 0, 2, 0, 1,
  0x37, 0x37, 0, 3, 3, 0,
  0x38, 0x38, 0, 2, 0, 1,
  0x39, 0x39, 0, 3, 3, 0,
  0x3a, 0x3a, 0, 2, 0, 1,
  0x3b, 0x3b, 0, 20, 1, 1,
  0x3b, 0x3b, 3, 700, 1, 1, // EIP-150
  0x3b, 0x3b, 10, 100, 1, 1, // EIP-2929
  0x3c, 0x3c, 0, 20, 4, 0,
  0x3c, 0x3c, 3, 700, 4, 0,
  0x3c, 0x3c, 10, 100, 4, 0,
  0x3d, 0x3d, 5, 2, 0, 1, // EIP-211
  0x3e, 0x3e, 5, 3, 3, 0,
  0x3f, 0x3f, 6, 400, 1, 1, // EIP-1052
  0x3f, 0x3f, 8, 700, 1, 1, // EIP-1884
  0x3f, 0x3f, 10, 100, 1, 1, // EIP-2929
  0x40, 0x40, 0, 20, 1, 1,
  0x41, 0x45, 0, 2, 0, 1,
  0x46, 0x46, 8, 2, 0, 1, // EIP-1344
  0x47, 0x47, 8, 5, 0, 1, // EIP-1884
  0x48, 0x48, 11, 2, 0, 1, // EIP-3198
  0x49, 0x49, 16, 3, 1, 1, // EIP-4844
  0x4a, 0x4a, 16, 2, 0, 1, // EIP-7516
  0x4b, 0x4b, 24, 2, 0, 1, // EIP-7843
  0x50, 0x50, 0, 2, 1, 0,
  0x51, 0x51, 0, 3, 1, 1,
  0x52, 0x53, 0, 3, 2, 0,
  0x54, 0x54, 0, 50, 1, 1,
  0x54, 0x54, 3, 200, 1, 1, // EIP-150
  0x54, 0x54, 8, 800, 1, 1, // EIP-1884
  0x54, 0x54, 10, 0, 1, 1, // EIP-2929
  0x55, 0x55, 0, 0, 2, 0,
  0x56, 0x56, 0, 8, 1, 0,
  0x57, 0x57, 0, 10, 2, 0,
  0x58, 0x5a, 0, 2, 0, 1,
  0x5b, 0x5b, 0, 1, 0, 0,
  0x5c, 0x5c, 16, 100, 1, 1, // EIP-1153
  0x5d, 0x5d, 16, 100, 2, 0,
  0x5e, 0x5e, 16, 3, 3, 0, // EIP-5656
  0x5f, 0x5f, 15, 2, 0, 1, // EIP-3855
  0x60, 0x7f, 0, 3, 0, 1,
  0xa0, 0xa0, 0, 0, 2, 0,
  0xa1, 0xa1, 0, 0, 3, 0,
  0xa2, 0xa2, 0, 0, 4, 0,
  0xa3, 0xa3, 0, 0, 5, 0,
  0xa4, 0xa4, 0, 0, 6, 0,
  0xe6, 0xe6, 24, 3, 1, 2, // EIP-8024; the operand sets the number of further words needed
  0xe7, 0xe8, 24, 3, 2, 2,
  0xf0, 0xf0, 0, 32000, 3, 1,
  0xf0, 0xf0, 24, 12000, 3, 1, // EIP-8038
  0xf1, 0xf1, 0, 40, 7, 1,
  0xf1, 0xf1, 3, 700, 7, 1, // EIP-150
  0xf1, 0xf1, 10, 100, 7, 1, // EIP-2929
  0xf2, 0xf2, 0, 40, 7, 1,
  0xf2, 0xf2, 3, 700, 7, 1,
  0xf2, 0xf2, 10, 100, 7, 1,
  0xf3, 0xf3, 0, 0, 2, 0,
  0xf4, 0xf4, 1, 40, 6, 1, // EIP-7
  0xf4, 0xf4, 3, 700, 6, 1,
  0xf4, 0xf4, 10, 100, 6, 1,
  0xf5, 0xf5, 6, 32000, 4, 1, // EIP-1014
  0xf5, 0xf5, 24, 12000, 4, 1,
  0xfa, 0xfa, 5, 700, 6, 1, // EIP-214
  0xfa, 0xfa, 10, 100, 6, 1,
  0xfd, 0xfd, 5, 0, 2, 0, // EIP-140
  0xff, 0xff, 0, 0, 1, 0,
  0xff, 0xff, 10, 5000, 1, 0,
]
const rowWords: i32 = 6

/** Stack bytes for an opcode that does not exist: no stack is deep enough. */
export const missingOpcode: u32 = 0xffff

/**
 * Writes an entry of the opcode table: bits 0 to 15 static gas, 16 to 31 bytes that must be on the stack. Bits 32 to 63
 * are the most bytes that may be on the stack beyond those.
 */
function putOpcode(opcode: usize, gas: u32, taken: u32, left: u32): void {
  const mostWords = stackMax + taken - left
  const room = ((mostWords < stackMax ? mostWords : stackMax) - taken) << 5
  store<u32>(opcodeTable + (opcode << 3), gas | ((taken << 5) << 16))
  store<u32>(opcodeTable + (opcode << 3), room, 4)
}

/** Sets the rules to those of a fork, with its longest code and initcode. */
export function setFork(number: i32, codeBytes: u32, initcodeBytes: u32): void {
  if (number == fork) return
  fork = number
  codeBytesMax = codeBytes
  initcodeBytesMax = initcodeBytes
  for (let opcode: usize = 0; opcode < 256; opcode++) {
    store<u64>(opcodeTable + (opcode << 3), (missingOpcode as u64) << 16)
  }
  for (let row = 0; row < opcodes.length; row += rowWords) {
    if (!has(opcodes[row + 2])) continue
    for (let opcode: usize = opcodes[row]; opcode <= opcodes[row + 1]; opcode++) {
      putOpcode(opcode, opcodes[row + 3], opcodes[row + 4], opcodes[row + 5])
    }
  }
  for (let i: u32 = 0; i < 16; i++) {
    putOpcode(0x80 + i, 3, i + 1, i + 2)
    putOpcode(0x90 + i, 3, i + 2, i + 2)
  }
  exponentByteGas = has(Fork.SpuriousDragon) ? 50 : 10
  coldAccountGas = has(Fork.Amsterdam) ? 3000 : 2600
  codeAccessGas = has(Fork.Amsterdam) ? warmAccessGas : 0
  valueTransferGas = has(Fork.Amsterdam) ? 9000 + callStipend : 9000
  newAccountGas = has(Fork.Amsterdam) ? 0 : 25000
  newHeirGas = has(Fork.Amsterdam) ? 9000 : 25000
  warmWriteGas = has(Fork.Amsterdam) ? warmAccessGas : 0
  dirtySlotGas = has(Fork.Amsterdam) ? 0 : has(Fork.Berlin) ? warmAccessGas : has(Fork.Istanbul) ? 800 : 200
  setSlotGas = has(Fork.Amsterdam) ? 10000 : 20000
  resetSlotGas = has(Fork.Amsterdam) ? 10000 : has(Fork.Berlin) ? 5000 - coldSlotGas : 5000
  clearedSlotRefund = has(Fork.Amsterdam) ? 11616 : has(Fork.London) ? 4800 : 15000
  newAccountStateGas = has(Fork.Amsterdam) ? 120 * codeByteStateGas : 0
  newSlotStateGas = has(Fork.Amsterdam) ? 64 * codeByteStateGas : 0
  selfdestructRefund = has(Fork.London) ? 0 : 24000
}
