/** Workloads for the EVM's speed: messages to the demo chain's contracts, loops of one kind, single opcodes. */

import { concatBytes, hexToBytes } from '../../src/primitives/bytes.js'
import { assemble } from '../../test/unit/evm/assembly.js'
import { addressOf, calldata } from '../data/demoFacts.js'

export interface Workload {
  readonly name: string
  readonly to: Uint8Array
  readonly data: Uint8Array
  readonly gas: bigint
  /** Code at `to`; undefined for a contract of the demo chain. */
  readonly code?: Uint8Array
}

/** Address of that code. */
export const codeAddress = hexToBytes('c0de00000000000000000000000000000000c0de')
export const caller = hexToBytes(addressOf('bea'))

const demo = (name: string, contract: string, data: string, gas = 10_000_000n): Workload => ({
  name,
  to: hexToBytes(addressOf(contract)),
  data: hexToBytes(data),
  gas,
})

/** Rounds of the demo chain's loop: 1.64 million gas. */
const loopRounds = 20_000

const bytes = (...list: readonly number[]) => Uint8Array.from(list)

/** Code that runs `before` once and repeats `body` until it is out of gas. Its input is one byte. */
function endless(name: string, body: Uint8Array, before: Uint8Array = new Uint8Array(0)): Workload {
  const code = concatBytes(before, bytes(0x5b), body, assemble(before.length, 'JUMP'))
  return { name, code, to: codeAddress, data: bytes(1), gas: 10_000_000n }
}

const many = (times: number, ...body: readonly number[]) => concatBytes(...Array(times).fill(bytes(...body)))
/** A word with bits in all limbs. */
const wide = concatBytes(bytes(0x7f), hexToBytes('f123456789abcdef'.repeat(4)))
const narrow = concatBytes(bytes(0x7f), hexToBytes('00000000000000000123456789abcdef'.repeat(2)))

export const workloads: readonly Workload[] = [
  demo('token transfer', 'Tide', calldata('transfer(address,uint256)', [addressOf('cal'), 1])),
  demo('exchange swap', 'Exchange', calldata('swap(bool,uint256,uint256)', [true, 10n ** 15n, 0])),
  demo('loop of 20,000', 'Burner', calldata('burn(uint256)', [loopRounds])),
  // As solc writes it: additions, comparisons and jumps between pushes, copies and exchanges.
  endless('arithmetic and stack', many(20, 0x80, 0x60, 7, 0x01, 0x81, 0x16, 0x90, 0x18), assemble(5, 9)),
  endless(
    'jumps',
    concatBytes(...Array.from({ length: 20 }, (_, n) => bytes(0x60, 1, 0x60, 6 + n * 6, 0x57, 0x5b))),
  ),
  endless('memory', many(20, 0x60, 1, 0x60, 64, 0x52, 0x60, 64, 0x51, 0x50)),
  endless('multiplication', many(20, 0x81, 0x02), concatBytes(wide, wide)),
  endless('division', many(20, 0x80, 0x82, 0x04, 0x50), concatBytes(narrow, wide)),
  endless('MULMOD', many(20, 0x82, 0x82, 0x82, 0x09, 0x50), concatBytes(narrow, wide, wide)),
  endless('hashes of 64 bytes', many(20, 0x60, 64, 0x5f, 0x20, 0x5f, 0x52)),
  endless('warm slots', many(20, 0x60, 3, 0x54, 0x60, 4, 0x55)),
  // Calls itself; the inner call ends because it has no input.
  endless(
    'calls',
    many(10, 0x5f, 0x5f, 0x5f, 0x5f, 0x30, 0x61, 0x20, 0, 0xfa, 0x50),
    bytes(0x36, 0x60, 5, 0x57, 0, 0x5b),
  ),
]

/** An opcode with the number of words that it pops and pushes. */
export interface OpcodeWork {
  readonly name: string
  readonly opcode: number
  readonly taken: number
  readonly left: number
  /** Opcode that pushes the word popped last; all others are zero. */
  readonly last: number
}

const push0 = 0x5f
const gasLeft = 0x5a

const row = (opcode: number, name: string, taken: number, left: number, last = push0): OpcodeWork => ({
  name,
  opcode,
  taken,
  left,
  last,
})

/** Every opcode that can be repeated. Operands are small, so that memory is allocated and slots are warm. */
export const opcodeWorks: readonly OpcodeWork[] = [
  ...['ADD', 'MUL', 'SUB', 'DIV', 'SDIV', 'MOD', 'SMOD'].map((name, at) => row(0x01 + at, name, 2, 1)),
  ...['ADDMOD', 'MULMOD'].map((name, at) => row(0x08 + at, name, 3, 1)),
  ...['EXP', 'SIGNEXTEND'].map((name, at) => row(0x0a + at, name, 2, 1)),
  ...['LT', 'GT', 'SLT', 'SGT', 'EQ'].map((name, at) => row(0x10 + at, name, 2, 1)),
  row(0x15, 'ISZERO', 1, 1),
  ...['AND', 'OR', 'XOR'].map((name, at) => row(0x16 + at, name, 2, 1)),
  row(0x19, 'NOT', 1, 1),
  ...['BYTE', 'SHL', 'SHR', 'SAR'].map((name, at) => row(0x1a + at, name, 2, 1)),
  row(0x1e, 'CLZ', 1, 1),
  row(0x20, 'KECCAK256', 2, 1),
  row(0x30, 'ADDRESS', 0, 1),
  row(0x31, 'BALANCE', 1, 1),
  ...['ORIGIN', 'CALLER', 'CALLVALUE'].map((name, at) => row(0x32 + at, name, 0, 1)),
  row(0x35, 'CALLDATALOAD', 1, 1),
  row(0x36, 'CALLDATASIZE', 0, 1),
  row(0x37, 'CALLDATACOPY', 3, 0),
  row(0x38, 'CODESIZE', 0, 1),
  row(0x39, 'CODECOPY', 3, 0),
  row(0x3a, 'GASPRICE', 0, 1),
  row(0x3b, 'EXTCODESIZE', 1, 1),
  row(0x3c, 'EXTCODECOPY', 4, 0),
  row(0x3d, 'RETURNDATASIZE', 0, 1),
  row(0x3f, 'EXTCODEHASH', 1, 1),
  row(0x40, 'BLOCKHASH', 1, 1),
  ...['COINBASE', 'TIMESTAMP', 'NUMBER', 'PREVRANDAO', 'GASLIMIT', 'CHAINID', 'SELFBALANCE', 'BASEFEE'].map(
    (name, at) => row(0x41 + at, name, 0, 1),
  ),
  row(0x49, 'BLOBHASH', 1, 1),
  row(0x4a, 'BLOBBASEFEE', 0, 1),
  row(0x51, 'MLOAD', 1, 1),
  row(0x52, 'MSTORE', 2, 0),
  row(0x53, 'MSTORE8', 2, 0),
  row(0x54, 'SLOAD', 1, 1),
  row(0x55, 'SSTORE', 2, 0),
  ...['PC', 'MSIZE', 'GAS'].map((name, at) => row(0x58 + at, name, 0, 1)),
  row(0x5b, 'JUMPDEST', 0, 0),
  row(0x5c, 'TLOAD', 1, 1),
  row(0x5d, 'TSTORE', 2, 0),
  row(0x5e, 'MCOPY', 3, 0),
  row(0x5f, 'PUSH0', 0, 1),
  row(0x80, 'DUP1', 1, 2),
  row(0x8f, 'DUP16', 16, 17),
  row(0x90, 'SWAP1', 2, 2),
  row(0x9f, 'SWAP16', 17, 17),
  ...[0, 1, 2, 3, 4].map((topics) => row(0xa0 + topics, `LOG${topics}`, topics + 2, 0)),
  row(0xf0, 'CREATE', 3, 1),
  row(0xf1, 'CALL', 7, 1),
  row(0xf2, 'CALLCODE', 7, 1),
  row(0xf4, 'DELEGATECALL', 6, 1),
  // With one salt it would fail from the second time on, and take all gas.
  row(0xf5, 'CREATE2', 4, 1, gasLeft),
  row(0xfa, 'STATICCALL', 6, 1),
]
