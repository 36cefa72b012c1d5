/** go-ethereum's names of opcodes (core/vm/opcodes.go), including those of other forks and planned ones. */

export const sload = 0x54
export const sstore = 0x55
export const create = 0xf0
export const call = 0xf1
export const callCode = 0xf2
export const delegateCall = 0xf4
export const create2 = 0xf5
export const staticCall = 0xfa
export const selfdestruct = 0xff
export const calling: readonly number[] = [call, callCode, delegateCall, staticCall]

export function isCreation({ kind }: { readonly kind: number }): boolean {
  return kind === create || kind === create2
}

const ranges: readonly (readonly [first: number, names: string])[] = [
  [0x00, 'STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND'],
  [0x10, 'LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ'],
  [0x20, 'KECCAK256'],
  [0x30, 'ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY CODESIZE CODECOPY'],
  [0x3a, 'GASPRICE EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH'],
  [0x40, 'BLOCKHASH COINBASE TIMESTAMP NUMBER DIFFICULTY GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBHASH'],
  [0x4a, 'BLOBBASEFEE SLOTNUM'],
  [0x50, 'POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY PUSH0'],
  [0xa0, 'LOG0 LOG1 LOG2 LOG3 LOG4'],
  [0xd0, 'DATALOAD DATALOADN DATASIZE DATACOPY'],
  [0xe0, 'RJUMP RJUMPI RJUMPV CALLF RETF JUMPF DUPN SWAPN EXCHANGE'],
  [0xec, 'EOFCREATE'],
  [0xee, 'RETURNCONTRACT'],
  [0xf0, 'CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2'],
  [0xf7, 'RETURNDATALOAD EXTCALL EXTDELEGATECALL STATICCALL EXTSTATICCALL'],
  [0xfd, 'REVERT INVALID SELFDESTRUCT'],
]

/** Names by opcode. */
export const opcodeNames: readonly string[] = Array.from({ length: 256 }, (_, opcode) => nameOf(opcode))

function nameOf(opcode: number): string {
  if (opcode >= 0x60 && opcode <= 0x7f) return `PUSH${opcode - 0x5f}`
  if (opcode >= 0x80 && opcode <= 0x8f) return `DUP${opcode - 0x7f}`
  if (opcode >= 0x90 && opcode <= 0x9f) return `SWAP${opcode - 0x8f}`
  for (const [first, names] of ranges) {
    const name = names.split(' ')[opcode - first]
    if (opcode >= first && name !== undefined) return name
  }
  return `opcode 0x${opcode.toString(16)} not defined`
}
