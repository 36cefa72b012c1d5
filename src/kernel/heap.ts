/**
 * Memory whose size is known only at run time. Owns blocks, whose sizes are powers of two and which are given back one
 * by one, and arenas, whose pieces are given back all together. What is handed out may hold anything.
 */
import { freeBlocks, heapStart } from './layout'
import { stop, StopReason } from './host'

const smallestBlockBits: u32 = 10
/** Blocks of an arena; a larger piece gets a block of its own. */
const arenaBlockBytes: usize = 0x10000
/** At the start of each block of an arena: the block before it, and its size. */
const arenaHeadBytes: usize = 16

/** End of what was ever handed out. */
let heapEnd: usize = heapStart
/** Bytes of blocks that are out. */
export let heapBytes: usize = 0
let heapBytesMax: usize = 256 << 20

export function limitHeap(bytesMax: usize): void {
  heapBytesMax = bytesMax
}

/** Forgets all blocks. */
export function clearHeap(): void {
  heapEnd = heapStart
  heapBytes = 0
  memory.fill(freeBlocks, 0, 128)
}

// @ts-ignore: decorator
@inline
function bitsFor(bytes: usize): u32 {
  const bits: u32 = 32 - (clz<u32>((bytes as u32) - 1) as u32)
  return bits < smallestBlockBits ? smallestBlockBits : bits
}

/** Bytes of the block that {@link takeBlock} gives for so many. */
// @ts-ignore: decorator
@inline
export function blockBytes(bytes: usize): usize {
  return (1 as usize) << bitsFor(bytes)
}

/** A block of at least so many bytes; stops the run where it would take more memory than a run may have. */
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

/** Gives back a block that was taken for so many bytes. */
export function releaseBlock(block: usize, bytes: usize): void {
  const bits = bitsFor(bytes)
  heapBytes -= (1 as usize) << bits
  const list = freeBlocks + (bits << 2)
  store<u32>(block, load<u32>(list))
  store<u32>(list, block)
}

/** Memory that is given back all at once. */
@unmanaged
export class Arena {
  /** The newest block; 0 for none. */
  block: usize
  next: usize
  end: usize

  /** `bytes` of memory, at a multiple of 16. */
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

  /** Gives all its memory back. */
  clear(): void {
    let block = this.block
    while (block != 0) {
      const before = load<u32>(block)
      releaseBlock(block, load<u32>(block, 4))
      block = before
    }
    this.forget()
  }

  /** Has no memory any more, because the heap was cleared. */
  forget(): void {
    this.block = 0
    this.next = 0
    this.end = 0
  }
}
