/**
 * The instruction loop: runs frames until the outermost one has ended. Program counter, stack pointer and gas, which
 * every instruction uses, are local variables; they are stored in the frame before another function reads them.
 *
 * Gas also serves as a clock. An instruction that finds less than `floor` gas either has too little, or must first ask
 * the host whether the run may continue. So there is no separate check per instruction.
 */
import { noteRefused } from './access'
import { call, createContract, finishCall, finishCreation, hasEntered, selfdestruct } from './callOpcodes'
import { endFrame, gasBack, why } from './calls'
import { askHost, divisionGas, floorFor, frameLookGas, hashGas, hashLengthGas, lookEvery, moduloGas, powerGas } from './clock'
import * as context from './context'
import { addModulo, divide, multiplyModulo, remainder, signedDivide, signedRemainder } from './division'
import * as environment from './environment'
import { Failure, Frame, frameAt } from './frame'
import {
  copyIn,
  endOf,
  endOfWords,
  expand,
  fail,
  failAfter,
  failure,
  gasAfterCost,
  isCostKnown,
  returnedLength,
  wordsGas,
} from './frames'
import { opcodeTable, scratchWords } from './layout'
import { copyWithin, hash } from './memoryOpcodes'
import { noteGasRead } from './needs'
import { exponentByteGas, exponentGas, missingOpcode } from './rules'
import { loadSlot, loadTransient, storeSlot, storeTransient } from './storage'
import { isTracing, traceCost, traceFault, traceStep } from './trace'
import * as word from './word'
import { clamped, clearWord, copyWord, isSmall, isZero, putSmall, reverseWord, WORD } from './word'

/** Remaining gas of the outermost frame after its end. */
export let gasLeft: i64 = 0
/** Sets the gas that is left, for a message that ends without a frame. */
export function setGasLeft(gas: i64): void {
  gasLeft = gas
}

/** At the last failure of a frame: the opcode, and the number of words on its stack. */
export let failedOpcode: u32 = 0
export let failedStackWords: u32 = 0
/** At the last failure of EIP-8024: the operand, and the number of words that it needs. */
export let failedOperand: u32 = 0
export let failedOperandWords: u32 = 0

/** Runs the frame at depth 0 and everything that it calls. Afterwards `why` of calls.ts is the result. */
export function run(): void {
  let frame = frameAt(0)
  let pc = frame.pc
  let sp = frame.sp
  let stack = frame.stack
  let gas = frame.gas
  // Gas at which to ask the host; may be negative.
  let lookAt = gas - lookEvery
  let floor = floorFor(lookAt)
  // Whether the current instruction was traced already.
  let isReported = false
  for (;;) {
    // Instructions without function calls: in a loop without calls the variables stay in registers.
    for (;;) {
      const opcode = load<u8>(pc) as u32
      if (isTracing) {
        if (!isReported) traceStep(frame, pc, opcode, gas, sp)
        isReported = false
      }
      const entry = opcodeTable + ((opcode as usize) << 3)
      const stackBytes = (sp - stack) as u32
      const left = gas - (load<u16>(entry) as i64)
      if (left < floor || stackBytes - (load<u16>(entry, 2) as u32) > load<u32>(entry, 4)) break
      gas = left
      // Operands: `a` is on top. Most instructions write their result in place of their last operand.
      const a = sp - WORD
      const b = sp - 2 * WORD
      switch (opcode) {
        case 0x01: word.add(a, b, b); sp = a; pc++; continue
        case 0x02:
          if (word.isShort(a)) word.multiplyShort(b, load<u64>(a), b)
          else if (word.isShort(b)) word.multiplyShort(a, load<u64>(b), b)
          else break
          sp = a; pc++; continue
        case 0x03: word.subtract(a, b, b); sp = a; pc++; continue
        case 0x10: putSmall(b, u64(word.isBelow(a, b))); sp = a; pc++; continue
        case 0x11: putSmall(b, u64(word.isBelow(b, a))); sp = a; pc++; continue
        case 0x12: putSmall(b, u64(word.isSignedBelow(a, b))); sp = a; pc++; continue
        case 0x13: putSmall(b, u64(word.isSignedBelow(b, a))); sp = a; pc++; continue
        case 0x14: putSmall(b, u64(word.equals(a, b))); sp = a; pc++; continue
        case 0x15: putSmall(a, u64(isZero(a))); pc++; continue
        case 0x16: word.and(a, b, b); sp = a; pc++; continue
        case 0x17: word.or(a, b, b); sp = a; pc++; continue
        case 0x18: word.xor(a, b, b); sp = a; pc++; continue
        case 0x19: word.not(a, a); pc++; continue
        case 0x1a: putSmall(b, clamped(a) < 32 ? (load<u8>(b + 31 - load<u32>(a)) as u64) : 0); sp = a; pc++; continue
        case 0x1b: shiftLeft(a, b); sp = a; pc++; continue
        case 0x1c: shiftRight(a, b, 0); sp = a; pc++; continue
        case 0x1d: shiftRight(a, b, word.isNegative(b) ? u64.MAX_VALUE : 0); sp = a; pc++; continue
        case 0x30: copyWord(frame.account.address, sp); sp += WORD; pc++; continue
        case 0x32: copyWord(context.originWord, sp); sp += WORD; pc++; continue
        case 0x33: copyWord(frame.caller, sp); sp += WORD; pc++; continue
        case 0x34: copyWord(frame.value, sp); sp += WORD; pc++; continue
        case 0x36: putSmall(sp, frame.inputLength as u64); sp += WORD; pc++; continue
        case 0x38: putSmall(sp, frame.codeLength as u64); sp += WORD; pc++; continue
        case 0x3a: copyWord(context.gasPriceWord, sp); sp += WORD; pc++; continue
        case 0x3d: putSmall(sp, returnedLength as u64); sp += WORD; pc++; continue
        case 0x41: copyWord(context.coinbaseWord, sp); sp += WORD; pc++; continue
        case 0x42: copyWord(context.timestampWord, sp); sp += WORD; pc++; continue
        case 0x43: copyWord(context.numberWord, sp); sp += WORD; pc++; continue
        case 0x44: copyWord(context.randomWord, sp); sp += WORD; pc++; continue
        case 0x45: copyWord(context.gasLimitWord, sp); sp += WORD; pc++; continue
        case 0x46: copyWord(context.chainIdWord, sp); sp += WORD; pc++; continue
        case 0x47: copyWord(frame.account.balance, sp); sp += WORD; pc++; continue
        case 0x48: copyWord(context.baseFeeWord, sp); sp += WORD; pc++; continue
        case 0x4a: copyWord(context.blobBaseFeeWord, sp); sp += WORD; pc++; continue
        case 0x4b: copyWord(context.slotNumberWord, sp); sp += WORD; pc++; continue
        case 0x50: sp = a; pc++; continue
        case 0x58: putSmall(sp, (pc - frame.code) as u64); sp += WORD; pc++; continue
        case 0x59: putSmall(sp, frame.memoryBytes as u64); sp += WORD; pc++; continue
        case 0x5b: pc++; continue
        case 0x5f: clearWord(sp); sp += WORD; pc++; continue
        case 0x60: putSmall(sp, load<u8>(pc, 1) as u64); sp += WORD; pc += 2; continue
        case 0x61: putSmall(sp, bswap(load<u16>(pc, 1)) as u64); sp += WORD; pc += 3; continue
        case 0x62: case 0x63: case 0x64: case 0x65: case 0x66: case 0x67:
          putSmall(sp, bswap(load<u64>(pc, 1)) >> ((64 - ((opcode - 0x5f) << 3)) as u64))
          sp += WORD; pc += opcode - 0x5e; continue
        case 0x7f: reverseWord(pc + 1, sp); sp += WORD; pc += 33; continue
        case 0x80: case 0x81: case 0x82: case 0x83: case 0x84: case 0x85: case 0x86: case 0x87:
        case 0x88: case 0x89: case 0x8a: case 0x8b: case 0x8c: case 0x8d: case 0x8e: case 0x8f:
          copyWord(sp - ((opcode - 0x7f) << 5), sp); sp += WORD; pc++; continue
        case 0x90: case 0x91: case 0x92: case 0x93: case 0x94: case 0x95: case 0x96: case 0x97:
        case 0x98: case 0x99: case 0x9a: case 0x9b: case 0x9c: case 0x9d: case 0x9e: case 0x9f:
          word.swap(sp - ((opcode - 0x8e) << 5), a); pc++; continue
        // EIP-8024.
        case 0xe6: {
          const n = distance(load<u8>(pc, 1))
          if (n == 0 || (n << 5) > stackBytes) break
          copyWord(sp - (n << 5), sp); sp += WORD; pc += 2; continue
        }
        case 0xe7: {
          const n = distance(load<u8>(pc, 1))
          if (n == 0 || (n << 5) >= stackBytes) break
          word.swap(a - (n << 5), a); pc += 2; continue
        }
        case 0xe8: {
          const pair = distances(load<u8>(pc, 1))
          const n = pair & 0xff
          const m = pair >> 8
          if (n == 0 || (m << 5) >= stackBytes) break
          word.swap(a - (n << 5), a - (m << 5)); pc += 2; continue
        }
        case 0x51:
          if (!isInMemory(frame, a, 32)) break
          reverseWord(frame.memory + load<u32>(a), a); pc++; continue
        case 0x52:
          if (!isInMemory(frame, a, 32)) break
          reverseWord(b, frame.memory + load<u32>(a)); sp = b; pc++; continue
        case 0x56:
          if (!isJumpTarget(frame, a)) break
          pc = frame.code + load<u32>(a); sp = a; continue
        case 0x57:
          if (isZero(b)) { sp = b; pc++; continue }
          if (!isJumpTarget(frame, a)) break
          pc = frame.code + load<u32>(a); sp = b; continue
        default: break
      }
      gas += load<u16>(entry) as i64
      break
    }
    // All other instructions, and those above that cannot be executed or need more than the inner loop offers.
    const opcode = load<u8>(pc) as u32
    const entry = load<u64>(opcodeTable + ((opcode as usize) << 3))
    const stackBytes = (sp - stack) as u32
    const gasBefore = gas
    gas -= (entry & 0xffff) as i64
    let isRefused = false
    if (gas < floor || stackBytes - (((entry >> 16) as u32) & 0xffff) > ((entry >> 32) as u32)) {
      isRefused = isRefusedBy(entry, stackBytes, gas)
      if (!isRefused) {
        isReported = isTracing
        gas = gasBefore
        lookAt = gas - lookEvery
        floor = floorFor(lookAt)
        continue
      }
    }
    if (!isRefused) {
      const a = sp - WORD
      const b = sp - 2 * WORD
      const c = sp - 3 * WORD
      switch (opcode) {
        case 0x00: frame = leave(frame, Failure.None, 0, 0, gas); break
        case 0x02: word.multiply(a, b, b); sp = a; pc++; continue
        case 0x04: divide(a, b, b); sp = a; pc++; lookAt += divisionGas; floor = floorFor(lookAt); continue
        case 0x05: signedDivide(a, b, scratchWords, b); sp = a; pc++; lookAt += divisionGas; floor = floorFor(lookAt); continue
        case 0x06: remainder(a, b, b); sp = a; pc++; lookAt += divisionGas; floor = floorFor(lookAt); continue
        case 0x07: signedRemainder(a, b, scratchWords, b); sp = a; pc++; lookAt += divisionGas; floor = floorFor(lookAt); continue
        case 0x08: addModulo(a, b, c, c); sp = b; pc++; lookAt += moduloGas; floor = floorFor(lookAt); continue
        case 0x09: multiplyModulo(a, b, c, c); sp = b; pc++; lookAt += moduloGas; floor = floorFor(lookAt); continue
        case 0x0a: {
          gas = exponentiate(a, b, gas); sp = a; pc++
          if (gas < 0) break
          const slow = (gasBefore - gas) * powerGas
          lookAt += slow; floor = floorFor(lookAt); continue
        }
        case 0x0b: if (clamped(a) < 31) word.extendSign(b, load<u32>(a), b); sp = a; pc++; continue
        case 0x1e: putSmall(a, (256 - word.bitLength(a)) as u64); pc++; continue
        case 0x20: {
          gas = hash(frame, a, b, gas); sp = a; pc++
          if (gas < 0) break
          const slow = hashGas + (gasBefore - gas) * hashLengthGas
          lookAt += slow; floor = floorFor(lookAt); continue
        }
        case 0x31: gas = environment.balance(a, gas); pc++; if (gas >= 0) continue; break
        case 0x35: environment.callDataLoad(frame, a); pc++; continue
        case 0x37:
          gas = copyIn(frame, frame.input, frame.inputLength, a, b, c, gas)
          sp = c; pc++; if (gas >= 0) continue; break
        case 0x39:
          gas = copyIn(frame, frame.code, frame.codeLength, a, b, c, gas)
          sp = c; pc++; if (gas >= 0) continue; break
        case 0x3b: gas = environment.externalCodeSize(a, gas); pc++; if (gas >= 0) continue; break
        case 0x3c: gas = environment.externalCodeCopy(frame, sp, gas); sp -= 4 * WORD; pc++; if (gas >= 0) continue; break
        case 0x3e: gas = environment.returnDataCopy(frame, sp, gas); sp = c; pc++; if (gas >= 0) continue; break
        case 0x3f: gas = environment.externalCodeHash(a, gas); pc++; if (gas >= 0) continue; break
        case 0x40: environment.blockHash(a); pc++; continue
        case 0x49: environment.blobHash(a); pc++; continue
        case 0x51:
          gas = expand(frame, endOf(a, 32), gas)
          pc++; if (gas < 0) break
          reverseWord(frame.memory + load<u32>(a), a); continue
        case 0x52:
          gas = expand(frame, endOf(a, 32), gas)
          pc++; if (gas < 0) break
          reverseWord(b, frame.memory + load<u32>(a)); sp = b; continue
        case 0x53:
          if (!isInMemory(frame, a, 1)) gas = expand(frame, endOf(a, 1), gas)
          pc++; if (gas < 0) break
          store<u8>(frame.memory + load<u32>(a), load<u8>(b)); sp = b; continue
        case 0x54: gas = loadSlot(frame, a, gas); pc++; if (gas >= 0) continue; break
        case 0x55: gas = storeSlot(frame, a, b, gas); sp = b; pc++; if (gas >= 0) continue; break
        case 0x56: case 0x57: gas = fail(Failure.InvalidJump); break
        case 0x5a: noteGasRead(isCall(load<u8>(pc, 1))); putSmall(sp, gas as u64); sp += WORD; pc++; continue
        case 0x5c: loadTransient(frame, a); pc++; continue
        case 0x5d:
          if (frame.isStatic) { gas = fail(Failure.WriteProtection); break }
          storeTransient(frame, a, b); sp = b; pc++; continue
        case 0x5e: gas = copyWithin(frame, a, b, c, gas); sp = c; pc++; if (gas >= 0) continue; break
        case 0x68: case 0x69: case 0x6a: case 0x6b: case 0x6c: case 0x6d: case 0x6e: case 0x6f:
        case 0x70: case 0x71: case 0x72: case 0x73: case 0x74: case 0x75: case 0x76: case 0x77:
        case 0x78: case 0x79: case 0x7a: case 0x7b: case 0x7c: case 0x7d: case 0x7e:
          word.readBytes(pc + 1, opcode - 0x5f, sp); sp += WORD; pc += opcode - 0x5e; continue
        case 0xa0: case 0xa1: case 0xa2: case 0xa3: case 0xa4:
          gas = environment.log(frame, opcode - 0xa0, sp, gas)
          sp = b - ((opcode - 0xa0) << 5); pc++; if (gas >= 0) continue; break
        case 0xe6: case 0xe7: case 0xe8: gas = failOperand(opcode, load<u8>(pc, 1)); break
        case 0xf0: case 0xf5: gas = createContract(frame, opcode, sp, gas); pc++; if (gas >= 0) frame = enter(frame, pc, gas); break
        case 0xf1: case 0xf2: case 0xf4: case 0xfa: frame.pc = pc; gas = call(frame, opcode, sp, gas); pc++; if (gas >= 0) frame = enter(frame, pc, gas); break
        case 0xf3: case 0xfd: {
          gas = expand(frame, endOfWords(a, b), gas)
          if (gas < 0) break
          traceCost(opcode, gas)
          const from: usize = isZero(b) ? 0 : frame.memory + load<u32>(a)
          frame = leave(frame, opcode == 0xf3 ? Failure.None : Failure.Reverted, from, load<u32>(b), gas)
          break
        }
        case 0xff: gas = selfdestruct(frame, a, gas); if (gas >= 0) frame = leave(frame, Failure.None, 0, 0, gas); break
        default: gas = fail(Failure.InvalidOpcode)
      }
    }
    // The frame has failed, or another one continues.
    if (isRefused || gas < 0) {
      failedOpcode = opcode
      failedStackWords = stackBytes >> 5
      if (isRefused) noteRefused(frame, opcode, sp, failedStackWords)
      traceFault(opcode, failure, isCostKnown ? gasBefore - gasAfterCost : ((entry & 0xffff) as i64))
      frame = leave(frame, failure, 0, 0, 0)
    }
    if (changetype<usize>(frame) == 0) return
    pc = frame.pc
    sp = frame.sp
    stack = frame.stack
    gas = frame.gas
    // Frames may be shorter than the interval, so the rest of it continues in the next one.
    let untilLook = gasBefore - ((entry & 0xffff) as i64) - frameLookGas - lookAt
    if (untilLook <= 0) {
      askHost()
      untilLook = lookEvery
    }
    lookAt = gas - untilLook
    floor = floorFor(lookAt)
  }
}

@inline
function isCall(opcode: u32): bool {
  return opcode == 0xf1 || opcode == 0xf2 || opcode == 0xf4 || opcode == 0xfa
}

/** Whether an instruction cannot begin; sets the reason. If it can, the host was due to be asked. */
function isRefusedBy(entry: u64, stackBytes: u32, gas: i64): bool {
  const taken = ((entry >> 16) as u32) & 0xffff
  if (taken == missingOpcode) fail(Failure.InvalidOpcode)
  else if (stackBytes < taken) fail(Failure.StackUnderflow)
  else if (stackBytes - taken > ((entry >> 32) as u32)) fail(Failure.StackOverflow)
  else if (gas < 0) fail(Failure.OutOfGas)
  else {
    askHost()
    return false
  }
  return true
}

/** DUPN, SWAPN and EXCHANGE with an invalid operand, or with too few words on the stack. */
function failOperand(opcode: u32, operand: u32): i64 {
  const depth = opcode == 0xe8 ? distances(operand) >> 8 : distance(operand)
  failedOperand = operand
  failedOperandWords = opcode == 0xe6 ? depth : depth + 1
  return fail(depth == 0 ? Failure.InvalidOperand : Failure.OperandUnderflow)
}

/** The frame that continues after an instruction that may begin one. */
function enter(frame: Frame, pc: usize, gas: i64): Frame {
  frame.pc = pc
  frame.gas = gas
  return hasEntered ? frameAt(frame.depth + 1) : frame
}

/** Ends a frame and returns the one that continues; null if it was the outermost. */
function leave(frame: Frame, reason: Failure, from: usize, length: u32, gas: i64): Frame {
  endFrame(frame, reason, from, length, gas)
  if (frame.depth == 0) {
    gasLeft = gasBack
    return changetype<Frame>(0)
  }
  const outer = frameAt(frame.depth - 1)
  const isSuccess = why == Failure.None
  outer.gas += frame.isCreation
    ? finishCreation(outer, isSuccess ? frame.account.address : 0)
    : finishCall(outer, isSuccess)
  return outer
}

function exponentiate(base: usize, exponent: usize, gas: i64): i64 {
  gas -= exponentGas + (((word.bitLength(exponent) + 7) >> 3) as i64) * exponentByteGas
  if (gas < 0) return failAfter(gas, Failure.OutOfGas)
  word.power(base, exponent, scratchWords)
  copyWord(scratchWords, exponent)
  return gas
}

@inline
function shiftLeft(count: usize, value: usize): void {
  if (clamped(count) < 256) word.shiftLeft(value, load<u8>(count), value)
  else clearWord(value)
}

@inline
function shiftRight(count: usize, value: usize, fill: u64): void {
  if (clamped(count) < 256) word.shiftRight(value, load<u8>(count), fill, value)
  else word.fillWord(value, fill)
}

@inline
function isInMemory(frame: Frame, offset: usize, length: u64): bool {
  return isSmall(offset) && load<u64>(offset) < (frame.memoryBytes as u64) && load<u64>(offset) + length <= (frame.memoryBytes as u64)
}

@inline
function isJumpTarget(frame: Frame, target: usize): bool {
  if (!isSmall(target) || load<u64>(target) >= (frame.codeLength as u64)) return false
  const at = load<u32>(target)
  return ((load<u8>(frame.jumps + (at >> 3)) >> ((at & 7) as u8)) & 1) != 0
}

/** The stack position that the operand of DUPN and SWAPN (EIP-8024) encodes, from 17 to 235; 0 for an invalid one. */
@inline
function distance(operand: u32): u32 {
  return operand > 90 && operand < 128 ? 0 : (operand + 145) & 0xff
}

/**
 * The two stack positions that the operand of EXCHANGE encodes, the lower one in the low byte; 0 for an invalid one.
 */
@inline
function distances(operand: u32): u32 {
  if (operand > 81 && operand < 128) return 0
  const q = (operand ^ 143) >> 4
  const r = (operand ^ 143) & 15
  return q < r ? (q + 1) | ((r + 1) << 8) : (r + 1) | ((29 - q) << 8)
}
