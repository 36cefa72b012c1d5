/** Code by its hash, and its valid jump destinations. */
import { Arena } from './heap'
import { readCode } from './host'
import { exchange } from './layout'
import { hashOffset, hashOfWord, Record, Table } from './table'
import { equals } from './word'

/** Hash of empty code, as bytes. */
export const emptyCodeHash: usize = memory.data<u8>([
  0xc5, 0xd2, 0x46, 0x01, 0x86, 0xf7, 0x23, 0x3c, 0x92, 0x7e, 0x7d, 0xb2, 0xdc, 0xc7, 0x03, 0xc0,
  0xe5, 0x00, 0xb6, 0x53, 0xca, 0x82, 0x27, 0x3b, 0x7b, 0xfa, 0xd8, 0x04, 0x5d, 0x85, 0xa4, 0x70,
])

/** Zeros behind code: a STOP, and operands of a PUSH at the end. */
export const paddingBytes: usize = 40

@unmanaged
export class Code extends Record {
  length: u32
  /** Bitmap of the valid JUMPDESTs; 0 before it is made. */
  jumps: usize

  /** 32 bytes. */
  @inline
  get codeHash(): usize {
    return changetype<usize>(this) + codeHashOffset
  }
  /** {@link length} bytes, and zeros behind them. */
  @inline
  get bytes(): usize {
    return changetype<usize>(this) + headBytes
  }
}

const codeHashOffset: usize = 16
const headBytes: usize = 48

const codes = changetype<Table>(memory.data(offsetof<Table>(), 16))
const memoryOfCodes = changetype<Arena>(memory.data(offsetof<Arena>(), 16))

/** Call it after the heap was cleared. */
export function forgetCodes(): void {
  codes.forget()
  memoryOfCodes.forget()
}

/** Code by its hash (32 bytes); asks the host the first time. */
export function findCode(hash: usize): Code {
  const tableHash = hashOfWord(hash, 0)
  const place = codes.placeFor(tableHash, codeHashOffset, hash, hashOffset, tableHash)
  const found = load<u32>(place) as usize
  if (found != 0) return changetype<Code>(found)
  let bytes: usize
  if (equals(hash, emptyCodeHash)) bytes = placeCode(0)
  else {
    memory.copy(exchange, hash, 32)
    bytes = readCode()
  }
  const code = changetype<Code>(bytes - headBytes)
  memory.copy(code.codeHash, hash, 32)
  codes.put(place, tableHash, changetype<usize>(code))
  return code
}

/** Allocates memory for code of `length` bytes and returns its address. */
export function placeCode(length: u32): usize {
  const code = changetype<Code>(memoryOfCodes.take(headBytes + length + paddingBytes))
  code.length = length
  code.jumps = 0
  memory.fill(code.bytes + length, 0, paddingBytes)
  return code.bytes
}

/** Stores code that is in memory, under its hash (32 bytes). */
export function keepCode(from: usize, length: u32, hash: usize): Code {
  const code = changetype<Code>(placeCode(length) - headBytes)
  memory.copy(code.bytes, from, length)
  memory.copy(code.codeHash, hash, 32)
  return code
}

export function jumpsOf(code: Code): usize {
  if (code.jumps == 0) {
    code.jumps = memoryOfCodes.take(jumpBytes(code.length))
    findJumps(code.bytes, code.length, code.jumps)
  }
  return code.jumps
}

/** Bytes of the bitmap for code of this length. */
@inline
export function jumpBytes(length: u32): usize {
  return (length >> 3) + 1
}

/** Sets a bit for each JUMPDEST that is not an operand of a PUSH (yellow paper 9.4.3). */
export function findJumps(bytes: usize, length: u32, bits: usize): void {
  memory.fill(bits, 0, jumpBytes(length))
  for (let at: u32 = 0; at < length; at++) {
    const opcode = load<u8>(bytes + at)
    if (opcode == 0x5b) {
      const byte = bits + (at >> 3)
      store<u8>(byte, load<u8>(byte) | ((1 as u8) << ((at & 7) as u8)))
    } else if (opcode >= 0x60 && opcode <= 0x7f) at += opcode - 0x5f
  }
}
