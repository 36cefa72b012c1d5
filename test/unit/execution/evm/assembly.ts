import { concatBytes, hexToBytes, toMinimalBytes } from '../../../../src/primitives/bytes.js'

const opcodes = {
  STOP: 0x00,
  ADD: 0x01,
  SUB: 0x03,
  LT: 0x10,
  GT: 0x11,
  ISZERO: 0x15,
  KECCAK256: 0x20,
  ADDRESS: 0x30,
  BALANCE: 0x31,
  ORIGIN: 0x32,
  CALLER: 0x33,
  GASPRICE: 0x3a,
  CALLDATASIZE: 0x36,
  CALLDATACOPY: 0x37,
  CODECOPY: 0x39,
  EXTCODESIZE: 0x3b,
  EXTCODECOPY: 0x3c,
  RETURNDATASIZE: 0x3d,
  RETURNDATACOPY: 0x3e,
  EXTCODEHASH: 0x3f,
  BLOCKHASH: 0x40,
  COINBASE: 0x41,
  TIMESTAMP: 0x42,
  NUMBER: 0x43,
  PREVRANDAO: 0x44,
  GASLIMIT: 0x45,
  CHAINID: 0x46,
  SELFBALANCE: 0x47,
  BASEFEE: 0x48,
  BLOBHASH: 0x49,
  BLOBBASEFEE: 0x4a,
  POP: 0x50,
  MLOAD: 0x51,
  MSTORE: 0x52,
  MSTORE8: 0x53,
  SLOAD: 0x54,
  SSTORE: 0x55,
  JUMP: 0x56,
  JUMPI: 0x57,
  MSIZE: 0x59,
  GAS: 0x5a,
  JUMPDEST: 0x5b,
  TLOAD: 0x5c,
  TSTORE: 0x5d,
  DUP1: 0x80,
  SWAP1: 0x90,
  LOG0: 0xa0,
  CREATE: 0xf0,
  CALL: 0xf1,
  CALLCODE: 0xf2,
  RETURN: 0xf3,
  DELEGATECALL: 0xf4,
  CREATE2: 0xf5,
  STATICCALL: 0xfa,
  REVERT: 0xfd,
  INVALID: 0xfe,
  SELFDESTRUCT: 0xff,
} as const

export type Opcode = keyof typeof opcodes
/** An instruction by name, or a number to push. */
export type Item = Opcode | number | bigint | Uint8Array

/** Code of instructions and pushed numbers, one after another. Bytes are taken as they are. */
export function assemble(...items: readonly Item[]): Uint8Array {
  return concatBytes(...items.map(bytesOf))
}

function bytesOf(item: Item): Uint8Array {
  if (item instanceof Uint8Array) return item
  if (typeof item === 'string') return Uint8Array.of(opcodes[item])
  const bytes = toMinimalBytes(item)
  if (bytes.length === 0) return hexToBytes('6000')
  return concatBytes(Uint8Array.of(0x5f + bytes.length), bytes)
}

/** Reverts without data if the topmost word is zero. `at`: length of the code before it. */
export function requireTrue(at: number): Uint8Array {
  // PUSH2 target JUMPI PUSH1 0 PUSH1 0 REVERT JUMPDEST
  const target = at + 9
  return concatBytes(
    Uint8Array.of(0x61, target >> 8, target & 255),
    assemble('JUMPI', 0, 0, 'REVERT', 'JUMPDEST'),
  )
}

/** Returns the topmost word. */
export const returnTop = assemble(0, 'MSTORE', 32, 0, 'RETURN')

/** Initcode that deploys `code`. */
export function deploy(code: Uint8Array): Uint8Array {
  const head = (offset: number) =>
    concatBytes(
      Uint8Array.of(0x61, code.length >> 8, code.length & 255, 0x60, offset),
      assemble(0, 'CODECOPY'),
      Uint8Array.of(0x61, code.length >> 8, code.length & 255),
      assemble(0, 'RETURN'),
    )
  return concatBytes(head(head(0).length), code)
}
