/**
 * Memory allocated at run time: blocks with sizes of powers of two, freed one by one, and arenas, whose pieces are
 * freed together. Allocated memory is not zeroed.
 */
import { freeBlocks, heapStart } from './layout'
import { stop, StopReason } from './host'

const smallestBlockBits: u32 = 10
/** Size of an arena's blocks; a larger piece gets a block of its own. */
const arenaBlockBytes: usize = 0x10000
/** Header of each block of an arena: the previous block, and its size. */
const arenaHeadBytes: usize = 16

/** End of all memory ever allocated. */
let heapEnd: usize = heapStart
/** Bytes of allocated blocks. */
export let heapBytes: usize = 0
let heapBytesMax: usize = 256 << 20

export function limitHeap(bytesMax: usize): void {
  heapBytesMax = bytesMax
}

export function clearHeap(): void {
  heapEnd = heapStart
  heapBytes = 0
  memory.fill(freeBlocks, 0, 128)
}

@inline
function bitsFor(bytes: usize): u32 {
  const bits: u32 = 32 - (clz<u32>((bytes as u32) - 1) as u32)
  return bits < smallestBlockBits ? smallestBlockBits : bits
}

/** Size of the block that {@link takeBlock} allocates for `bytes`. */
@inline
export function blockBytes(bytes: usize): usize {
  return (1 as usize) << bitsFor(bytes)
}

/** Allocates a block of at least `bytes`; stops the run if that exceeds its memory limit. */
export function takeBlock(bytes: usize): usize {
  if (bytes > heapBytesMax) stop(StopReason.Memory)
  const bits = bitsFor(bytes)
  const size = (1 as usize) << bits
  if (heapBytes + size > heapBytesMax) stop(StopReason.Memory)
  heapBytes += size
  const list = freeBlocks + (bits << 2)
  const free = load<u32>(list)
  if (free != 0) {
    store<u32>(list, load<u32>(free))
    return free
  }
  const block = heapEnd
  heapEnd += size
  const pages = ((heapEnd + 0xffff) >>> 16) as i32
  if (pages > memory.size() && memory.grow(pages - memory.size()) < 0) stop(StopReason.Memory)
  return block
}

export function releaseBlock(block: usize, bytes: usize): void {
  const bits = bitsFor(bytes)
  heapBytes -= (1 as usize) << bits
  const list = freeBlocks + (bits << 2)
  store<u32>(block, load<u32>(list))
  store<u32>(list, block)
}

/** Memory that is freed all at once. */
@unmanaged
export class Arena {
  /** The newest block; 0 for none. */
  block: usize
  next: usize
  end: usize

  /** Allocates `bytes` of memory at a multiple of 16. */
  @inline
  take(bytes: usize): usize {
    const size = (bytes + 15) & ~15
    const piece = this.next
    if (piece + size > this.end) return this.takeFromNewBlock(size)
    this.next = piece + size
    return piece
  }

  private takeFromNewBlock(size: usize): usize {
    const bytes = max(arenaBlockBytes, size + arenaHeadBytes)
    const block = takeBlock(bytes)
    store<u32>(block, this.block)
    store<u32>(block, bytes, 4)
    this.block = block
    this.next = block + arenaHeadBytes + size
    this.end = block + blockBytes(bytes)
    return block + arenaHeadBytes
  }

  clear(): void {
    let block = this.block
    while (block != 0) {
      const before = load<u32>(block)
      releaseBlock(block, load<u32>(block, 4))
      block = before
    }
    this.forget()
  }

  /** Call it after the heap was cleared. */
  forget(): void {
    this.block = 0
    this.next = 0
    this.end = 0
  }
}
