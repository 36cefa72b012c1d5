/** Accesses and changes of transactions, read from the kernel's memory; see src/execution/kernel/accessList.ts. */
import { readAddress } from './kernelLogs.js'
import type { KernelMemory } from './kernelMemory.js'
import type { Offsets } from './kernelModule.js'

/** Addresses, and slots as address and key. Consecutive slots share the bytes of an address. */
export interface Accesses {
  readonly addresses: Uint8Array[]
  readonly slots: (readonly [address: Uint8Array, key: Uint8Array])[]
}

/** A value that differs after a transaction from before it. */
export interface Change {
  readonly kind: ChangeKind
  readonly address: Uint8Array
  /** 32 bytes for a slot, else empty. */
  readonly key: Uint8Array
  /** Block access index. */
  readonly index: number
  /** A value, or the hash of code; 32 bytes. */
  readonly old: Uint8Array
  /** 32 bytes, or the code. */
  readonly value: Uint8Array
}

/** Names in the order of `Kind` in src/execution/kernel/accessList.ts. */
const kinds = ['slot', 'balance', 'nonce', 'code'] as const
type ChangeKind = (typeof kinds)[number]

/** Offsets in a `Change` of src/execution/kernel/accessList.ts. */
const offsets = { before: 0, kind: 4, target: 8, index: 12, code: 16, codeLength: 20, old: 32, value: 64 }
const noKey: Uint8Array = new Uint8Array(0)

export function readAccesses(memory: KernelMemory, at: Offsets, account: number, slot: number): Accesses {
  const addresses: Uint8Array[] = []
  for (; account !== 0; account = memory.uint32(account + at.nextSeenAccount)) {
    addresses.push(readAddress(memory, account))
  }
  const slots: (readonly [Uint8Array, Uint8Array])[] = []
  let owner = 0
  let address = noKey
  for (; slot !== 0; slot = memory.uint32(slot + at.nextSeenSlot)) {
    const account = memory.uint32(slot + at.account)
    if (account !== owner) address = readAddress(memory, account)
    owner = account
    slots.push([address, memory.reversed(slot + at.key)])
  }
  return { addresses, slots }
}

/** The changes up to the one at `newest` (0: none), the last first. */
export function readChanges(memory: KernelMemory, at: Offsets, newest: number): Change[] {
  const changes: Change[] = []
  for (let change = newest; change !== 0; change = memory.uint32(change + offsets.before)) {
    changes.push(readChange(memory, at, change))
  }
  return changes
}

function readChange(memory: KernelMemory, at: Offsets, change: number): Change {
  const kind = kinds[memory.uint32(change + offsets.kind)] as ChangeKind
  const target = memory.uint32(change + offsets.target)
  const isSlot = kind === 'slot'
  const isCode = kind === 'code'
  return {
    kind,
    address: readAddress(memory, isSlot ? memory.uint32(target + at.account) : target),
    key: isSlot ? memory.reversed(target + at.key) : noKey,
    index: memory.uint32(change + offsets.index),
    old: isCode ? memory.slice(change + offsets.old, 32) : memory.reversed(change + offsets.old),
    value: isCode
      ? memory.slice(memory.uint32(change + offsets.code), memory.uint32(change + offsets.codeLength))
      : memory.reversed(change + offsets.value),
  }
}
