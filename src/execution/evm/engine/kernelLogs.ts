/** Logs of a transaction, read from the kernel's memory; see src/execution/kernel/logs.ts. */
import type { KernelMemory } from './kernelMemory.js'

export interface KernelLog {
  readonly address: Uint8Array
  readonly topics: readonly Uint8Array[]
  readonly data: Uint8Array
}

/** A log or, if the kernel logs transfers of ether, a transfer. */
export interface NumberedLog {
  /** For a transfer `topics` are its two accounts, 32 bytes each, and `data` is its value. */
  readonly isTransfer: boolean
  /** Position among the logs and transfers since the kernel was cleared, without those undone. */
  readonly index: number
  readonly log: KernelLog
}

const offsets = { before: 0, account: 4, topicCount: 8, dataLength: 12, index: 16, topics: 20 }
const addressAt = 64
const noAddress = new Uint8Array(20)

/** The address of an account's record. */
export function readAddress(memory: KernelMemory, account: number): Uint8Array {
  return memory.reversed(account + addressAt).subarray(12)
}

/** The logs up to the one at `newest` (0: none), in order. */
export function readLogs(memory: KernelMemory, newest: number): NumberedLog[] {
  const logs: NumberedLog[] = []
  for (let at = newest; at !== 0; at = memory.uint32(at + offsets.before)) logs.push(readLog(memory, at))
  return logs.reverse()
}

/** A copy of the log at an address. */
export function readLog(memory: KernelMemory, at: number): NumberedLog {
  const topics: Uint8Array[] = []
  for (let i = 0; i < memory.uint32(at + offsets.topicCount); i++) {
    topics.push(memory.slice(at + offsets.topics + i * 32, 32))
  }
  const dataAt = at + offsets.topics + topics.length * 32
  const account = memory.uint32(at + offsets.account)
  const address = account === 0 ? noAddress : readAddress(memory, account)
  const data = memory.slice(dataAt, memory.uint32(at + offsets.dataLength))
  return {
    isTransfer: account === 0,
    index: memory.uint32(at + offsets.index),
    log: { address, topics, data },
  }
}
