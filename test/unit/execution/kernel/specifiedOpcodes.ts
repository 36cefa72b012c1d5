/**
 * Every instruction by the specifications: the yellow paper, the modules of execution-specs for each fork, and the EIPs
 * of Amsterdam. Written from them, and not from the kernel, which is compared with the list.
 */
import type { ForkName } from '../../../../src/data/chain/forks.js'

/**
 * From a fork on: the constant gas, and the whole gas in a reference case. There each operand is zero, only the
 * contract is warm, and its balance and all other accounts and slots are empty.
 */
export type Price = readonly [since: ForkName, constant: number, whole: number]

export interface SpecifiedOpcode {
  readonly opcode: number
  readonly taken: number
  readonly left: number
  readonly prices: readonly Price[]
  /** Whether the instruction fails in a static call; CALL fails only with a value. */
  readonly writes: boolean
  /** End of the instruction with zeros as operands, if it does not succeed. */
  readonly fails?: 'invalidJump' | 'reverted'
  /** The byte after the opcode, and the number of further words that the instruction reads. */
  readonly operand?: number
}

const all: SpecifiedOpcode[] = []

function add(
  opcode: number,
  taken: number,
  left: number,
  prices: readonly Price[],
  rest: Partial<SpecifiedOpcode> = {},
): void {
  all.push({ opcode, taken, left, prices, writes: false, ...rest })
}

/** Consecutive instructions that cost the same at all forks from one on. */
function same(
  opcodes: readonly number[],
  taken: number,
  left: number,
  gas: number,
  since: ForkName = 'chainstart',
): void {
  for (const opcode of opcodes) add(opcode, taken, left, [[since, gas, gas]])
}

/** STOP. */
same([0x00], 0, 0, 0)
// ADD, SUB, then MUL, DIV, SDIV, MOD, SMOD, then ADDMOD, MULMOD, EXP, SIGNEXTEND.
same([0x01, 0x03], 2, 1, 3)
same([0x02, 0x04, 0x05, 0x06, 0x07], 2, 1, 5)
same([0x08, 0x09], 3, 1, 8)
add(0x0a, 2, 1, [['chainstart', 0, 10]])
same([0x0b], 2, 1, 5)
// LT, GT, SLT, SGT, EQ, AND, OR, XOR, BYTE; ISZERO, NOT; SHL, SHR, SAR (EIP-145); CLZ (EIP-7939).
same([0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18, 0x1a], 2, 1, 3)
same([0x15, 0x19], 1, 1, 3)
same([0x1b, 0x1c, 0x1d], 2, 1, 3, 'constantinople')
same([0x1e], 1, 1, 5, 'osaka')
// KECCAK256.
same([0x20], 2, 1, 30)
// ADDRESS, ORIGIN, CALLER, CALLVALUE, CALLDATASIZE, CODESIZE, GASPRICE.
same([0x30, 0x32, 0x33, 0x34, 0x36, 0x38, 0x3a], 0, 1, 2)
// CALLDATALOAD; CALLDATACOPY, CODECOPY; RETURNDATASIZE, RETURNDATACOPY (EIP-211).
same([0x35], 1, 1, 3)
same([0x37, 0x39], 3, 0, 3)
same([0x3d], 0, 1, 2, 'byzantium')
same([0x3e], 3, 0, 3, 'byzantium')
// BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH: EIP-150, EIP-1884, EIP-2929, EIP-8038.
add(0x31, 1, 1, [
  ['chainstart', 20, 20],
  ['tangerineWhistle', 400, 400],
  ['istanbul', 700, 700],
  ['berlin', 100, 2_600],
  ['amsterdam', 100, 3_000],
])
const ofCode: readonly Price[] = [
  ['chainstart', 20, 20],
  ['tangerineWhistle', 700, 700],
  ['berlin', 100, 2_600],
  ['amsterdam', 100, 3_100],
]
add(0x3b, 1, 1, ofCode)
add(0x3c, 4, 0, ofCode)
add(0x3f, 1, 1, [
  ['constantinople', 400, 400],
  ['istanbul', 700, 700],
  ['berlin', 100, 2_600],
  ['amsterdam', 100, 3_000],
])
// BLOCKHASH; COINBASE, TIMESTAMP, NUMBER, PREVRANDAO, GASLIMIT.
same([0x40], 1, 1, 20)
same([0x41, 0x42, 0x43, 0x44, 0x45], 0, 1, 2)
// CHAINID (EIP-1344), SELFBALANCE (EIP-1884), BASEFEE (EIP-3198), BLOBHASH (EIP-4844), BLOBBASEFEE (EIP-7516).
same([0x46], 0, 1, 2, 'istanbul')
same([0x47], 0, 1, 5, 'istanbul')
same([0x48], 0, 1, 2, 'london')
same([0x49], 1, 1, 3, 'cancun')
same([0x4a], 0, 1, 2, 'cancun')
// SLOTNUM (EIP-7843).
same([0x4b], 0, 1, 2, 'amsterdam')
// POP; MLOAD, MSTORE and MSTORE8 with a word of memory.
same([0x50], 1, 0, 2)
add(0x51, 1, 1, [['chainstart', 3, 6]])
add(0x52, 2, 0, [['chainstart', 3, 6]])
add(0x53, 2, 0, [['chainstart', 3, 6]])
// SLOAD: EIP-150, EIP-1884, EIP-2929.
add(0x54, 1, 1, [
  ['chainstart', 50, 50],
  ['tangerineWhistle', 200, 200],
  ['istanbul', 800, 800],
  ['berlin', 0, 2_100],
])
// SSTORE of zero over zero: EIP-1283, which Petersburg took back, EIP-2200, EIP-2929, EIP-8038.
const sstore: readonly Price[] = [
  ['chainstart', 0, 5_000],
  ['constantinople', 0, 200],
  ['petersburg', 0, 5_000],
  ['istanbul', 0, 800],
  ['berlin', 0, 2_200],
  ['amsterdam', 0, 2_100],
]
add(0x55, 2, 0, sstore, { writes: true })
// JUMP, JUMPI, PC, MSIZE, GAS, JUMPDEST.
add(0x56, 1, 0, [['chainstart', 8, 8]], { fails: 'invalidJump' })
same([0x57], 2, 0, 10)
same([0x58, 0x59, 0x5a], 0, 1, 2)
same([0x5b], 0, 0, 1)
// TLOAD, TSTORE (EIP-1153), MCOPY (EIP-5656), PUSH0 (EIP-3855).
same([0x5c], 1, 1, 100, 'cancun')
add(0x5d, 2, 0, [['cancun', 100, 100]], { writes: true })
same([0x5e], 3, 0, 3, 'cancun')
same([0x5f], 0, 1, 2, 'shanghai')
for (let count = 1; count <= 32; count++) same([0x5f + count], 0, 1, 3)
for (let depth = 1; depth <= 16; depth++) {
  same([0x7f + depth], depth, depth + 1, 3)
  same([0x8f + depth], depth + 1, depth + 1, 3)
}
// LOG0 to LOG4.
for (let topics = 0; topics <= 4; topics++) {
  add(0xa0 + topics, 2 + topics, 0, [['chainstart', 0, 375 * (1 + topics)]], { writes: true })
}
// DUPN of word 17, SWAPN with word 18, EXCHANGE of words 2 and 3 (EIP-8024).
add(0xe6, 17, 18, [['amsterdam', 3, 3]], { operand: 0x80 })
add(0xe7, 18, 18, [['amsterdam', 3, 3]], { operand: 0x80 })
add(0xe8, 3, 3, [['amsterdam', 3, 3]], { operand: 0x8e })
// CREATE and CREATE2 (EIP-1014); EIP-8038 and EIP-8037: 120 bytes of state.
const newAccountState = 120 * 1_530
const creation: readonly Price[] = [['amsterdam', 12_000, 12_000 + newAccountState]]
add(0xf0, 3, 1, [['chainstart', 32_000, 32_000], ...creation], { writes: true })
add(0xf5, 4, 1, [['constantinople', 32_000, 32_000], ...creation], { writes: true })
// CALL of an absent account, which cost 25,000 until EIP-161; CALLCODE, DELEGATECALL (EIP-7), STATICCALL (EIP-214).
add(
  0xf1,
  7,
  1,
  [
    ['chainstart', 40, 25_040],
    ['tangerineWhistle', 700, 25_700],
    ['spuriousDragon', 700, 700],
    ['berlin', 100, 2_600],
    ['amsterdam', 100, 3_000],
  ],
  { writes: true },
)
const later: readonly Price[] = [
  ['tangerineWhistle', 700, 700],
  ['berlin', 100, 2_600],
  ['amsterdam', 100, 3_000],
]
add(0xf2, 7, 1, [['chainstart', 40, 40], ...later])
add(0xf4, 6, 1, [['homestead', 40, 40], ...later])
add(0xfa, 6, 1, [['byzantium', 700, 700], ...later.slice(1)])
// RETURN, REVERT (EIP-140).
same([0xf3], 2, 0, 0)
add(0xfd, 2, 0, [['byzantium', 0, 0]], { fails: 'reverted' })
// SELFDESTRUCT for an absent account: EIP-150, EIP-161, EIP-2929.
add(
  0xff,
  1,
  0,
  [
    ['chainstart', 0, 0],
    ['tangerineWhistle', 0, 30_000],
    ['spuriousDragon', 0, 5_000],
    ['berlin', 5_000, 7_600],
    ['amsterdam', 5_000, 8_000],
  ],
  { writes: true },
)

/** Instructions in the order of their opcodes. */
export const specifiedOpcodes: readonly SpecifiedOpcode[] = all.sort((a, b) => a.opcode - b.opcode)
