/**
 * The records of a call frame: the frame itself, its newest log, and the parts that form its need of gas. Owns their
 * members and the reasons of failures; not the operations on them.
 */
import { Account } from './accounts'
import { frameBytes, frames } from './layout'

/** Reason of a failed frame; the host has the messages. */
export enum Failure {
  None = 0,
  OutOfGas,
  StackUnderflow,
  StackOverflow,
  InvalidOpcode,
  InvalidJump,
  WriteProtection,
  ReturnDataOutOfBounds,
  /** A size of more than 64 bits. */
  GasOverflow,
  DepthReached,
  InsufficientBalance,
  CreateCollision,
  CodeTooLarge,
  CodeStoreOutOfGas,
  InvalidCode,
  InitcodeTooLarge,
  PrecompileFailed,
  NonceOverflow,
  Reverted,
  /** A part of the cost could not be paid; then go-ethereum does not compute the rest. */
  PartUnpaid,
  /** A cost of more than 64 bits, for memory or for an inner frame. */
  CostOverflow,
  /** EIP-2200. */
  SentryReached,
  /** A write in a static frame, by an instruction for which go-ethereum checks that before it computes the cost. */
  WriteRefused,
  /** EIP-8024: the stack lacks the words that an operand names, or the operand is invalid. */
  OperandUnderflow,
  InvalidOperand,
}

/** The instruction that made a frame; the number is its opcode. */
export namespace Kind {
  export const Create: u32 = 0xf0
  export const Call: u32 = 0xf1
  export const CallCode: u32 = 0xf2
  export const DelegateCall: u32 = 0xf4
  export const Create2: u32 = 0xf5
  export const StaticCall: u32 = 0xfa
}

/** The part of a frame up to an inner frame after which the remaining gas depends on the gas before it. */
@unmanaged
export class Part {
  before: Part | null
  pad: u32
  /** Greatest need of this part, counted from its beginning. */
  need: i64
  /** Gas consumed in this part, including the call's own cost. */
  consumed: i64
  /** Gas that the call requested. */
  asked: i64
  /** Least gas at the call for the inner frame to take its path. */
  atCall: i64
}

/** A log. Its topics follow as words, and then its data. */
@unmanaged
export class Log {
  before: Log | null
  /** Null for a transfer: its topics are the two accounts, and its data the value. */
  account: Account | null
  topicCount: u32
  dataLength: u32
  /** Position among the logs and transfers since the kernel was cleared, without those undone. */
  index: u32

  @inline
  get topics(): usize {
    return changetype<usize>(this) + offsetof<Log>()
  }
  @inline
  get data(): usize {
    return this.topics + ((this.topicCount as usize) << 5)
  }
}

@unmanaged
export class Frame {
  code: usize
  codeLength: u32
  jumps: usize
  /** Address of the next instruction. */
  pc: usize
  /** Address after the topmost word. */
  sp: usize
  stack: usize
  memory: usize
  /** Bytes of the memory's block; 0 while there is none. */
  memoryRoom: u32
  /** A multiple of 32. */
  memoryBytes: u32
  isStatic: u32
  gas: i64
  /** The account whose storage and balance are used. */
  account: Account
  kind: u32
  input: usize
  inputLength: u32
  /** Place in the caller's memory for returned data. */
  outOffset: u32
  outLength: u32
  // State to restore when the frame fails.
  undoPosition: usize
  newestLog: Log | null
  /** Block with initcode and its jump bitmap; 0 for none. */
  ownCode: usize
  ownCodeBytes: u32
  depth: u32
  refund: i64
  gasLimit: i64
  // See needs.ts.
  partGas: i64
  ownNeed: i64
  innerNeed: i64
  callConsumed: i64
  callAsked: i64
  callStipend: i64
  parts: Part | null
  /** State gas for a new account in the current call or creation; see stateGas.ts, also for the next three. */
  callStateGas: u32
  spilled: i64
  reservoirBefore: i64
  stateGasBefore: i64
  c0: u64
  c1: u64
  c2: u64
  c3: u64
  v0: u64
  v1: u64
  v2: u64
  v3: u64

  @inline
  get caller(): usize {
    return changetype<usize>(this) + offsetof<Frame>('c0')
  }
  @inline
  get value(): usize {
    return changetype<usize>(this) + offsetof<Frame>('v0')
  }
  @inline
  get isCreation(): bool {
    return this.kind == Kind.Create || this.kind == Kind.Create2
  }
}

@inline
export function frameAt(depth: u32): Frame {
  return changetype<Frame>(frames + (depth as usize) * frameBytes)
}
