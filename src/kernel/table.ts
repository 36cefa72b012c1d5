/** Tables of records: open addressing, at least half empty. Owns the places; records and their keys are others'. */
import { releaseBlock, takeBlock } from './heap'

const smallestCapacity: u32 = 1024

/** What every record of a table begins with. */
@unmanaged
export class Record {
  hash: u32
}

@unmanaged
export class Table {
  /** A record at each, or 0. */
  places: usize
  capacity: u32
  count: u32

  /** Makes room for one record more. Places that were found before hold no longer. */
  @inline
  prepare(): void {
    if (this.count << 1 >= this.capacity) this.grow()
  }

  /** The record at the place that a hash leads to, after so many others were not the one; 0 where the walk ends. */
  @inline
  at(hash: u32, steps: u32): usize {
    return load<u32>(this.placeOf(hash, steps))
  }

  @inline
  placeOf(hash: u32, steps: u32): usize {
    return this.places + ((((hash + steps) & (this.capacity - 1)) as usize) << 2)
  }

  /** Puts a record where a walk ended. */
  @inline
  put(hash: u32, steps: u32, record: usize): void {
    changetype<Record>(record).hash = hash
    store<u32>(this.placeOf(hash, steps), record as u32)
    this.count++
  }

  private grow(): void {
    const old = this.places
    const oldCapacity = this.capacity
    this.capacity = oldCapacity == 0 ? smallestCapacity : oldCapacity << 1
    const bytes = (this.capacity as usize) << 2
    this.places = takeBlock(bytes)
    memory.fill(this.places, 0, bytes)
    for (let i: u32 = 0; i < oldCapacity; i++) {
      const record = load<u32>(old + ((i as usize) << 2))
      if (record == 0) continue
      const hash = changetype<Record>(record as usize).hash
      let steps: u32 = 0
      while (this.at(hash, steps) != 0) steps++
      store<u32>(this.placeOf(hash, steps), record)
    }
    if (oldCapacity != 0) releaseBlock(old, (oldCapacity as usize) << 2)
  }

  /** Is empty, and gives its memory back. */
  clear(): void {
    if (this.capacity != 0) releaseBlock(this.places, (this.capacity as usize) << 2)
    this.forget()
  }

  /** Is empty; its memory was taken with all of the heap. */
  forget(): void {
    this.places = 0
    this.capacity = 0
    this.count = 0
  }
}

/** Makes the places of records unforeseeable to whoever chooses addresses and keys. */
let seed: u64 = 0

export function setSeed(random: u64): void {
  seed = random
}

// @ts-ignore: decorator
@inline
function mix(hash: u64, value: u64): u64 {
  hash = (hash ^ value) * 0x9fb21c651e98df25
  return hash ^ (hash >> 32)
}

/** Hash of a word in a scope of its own. */
// @ts-ignore: decorator
@inline
export function hashOfWord(word: usize, scope: u64): u32 {
  const low = mix(mix(scope ^ seed, load<u64>(word)), load<u64>(word, 8))
  return mix(mix(low, load<u64>(word, 16)), load<u64>(word, 24)) as u32
}
