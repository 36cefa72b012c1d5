/** Hash tables with open addressing, at least half empty. Owns the places; callers own records and keys. */
import { releaseBlock, takeBlock } from './heap'
import { equals } from './word'

const smallestCapacity: u32 = 1024

/** The header of every record in a table. */
@unmanaged
export class Record {
  hash: u32
}

@unmanaged
export class Table {
  /** Addresses of records; 0 for an empty place. */
  places: usize
  capacity: u32
  count: u32

  /**
   * The place of the record with this key and other value, or the place for a new one. Its word at `keyOffset` is the
   * key, its member at `otherOffset` is `other`. Valid until the next search.
   */
  @inline
  placeFor(hash: u32, keyOffset: usize, key: usize, otherOffset: usize, other: u32): usize {
    if (this.count << 1 >= this.capacity) this.grow()
    let place = this.placeOf(hash, 0)
    let record = load<u32>(place) as usize
    for (let steps: u32 = 1; record != 0; steps++) {
      if (load<u32>(record + otherOffset) == other && equals(record + keyOffset, key)) break
      place = this.placeOf(hash, steps)
      record = load<u32>(place)
    }
    return place
  }

  @inline
  private placeOf(hash: u32, steps: u32): usize {
    return this.places + ((((hash + steps) & (this.capacity - 1)) as usize) << 2)
  }

  /** Puts a record at the place that {@link placeFor} returned. */
  @inline
  put(place: usize, hash: u32, record: usize): void {
    changetype<Record>(record).hash = hash
    store<u32>(place, record as u32)
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
      while (load<u32>(this.placeOf(hash, steps)) != 0) steps++
      store<u32>(this.placeOf(hash, steps), record)
    }
    if (oldCapacity != 0) releaseBlock(old, (oldCapacity as usize) << 2)
  }

  /** Empties the table and frees its memory. */
  clear(): void {
    if (this.capacity != 0) releaseBlock(this.places, (this.capacity as usize) << 2)
    this.forget()
  }

  /** Empties the table after the heap was cleared. */
  forget(): void {
    this.places = 0
    this.capacity = 0
    this.count = 0
  }
}

/** Random seed, so that nobody can choose addresses and keys that collide. */
let seed: u64 = 0

export function setSeed(random: u64): void {
  seed = random
}

@inline
function mix(hash: u64, value: u64): u64 {
  hash = (hash ^ value) * 0x9fb21c651e98df25
  return hash ^ (hash >> 32)
}

/** Use it as `otherOffset` for records with only a key: then the hash is compared. */
export const hashOffset: usize = offsetof<Record>('hash')

/** Hash of a word; equal words in different scopes get different hashes. */
@inline
export function hashOfWord(word: usize, scope: u64): u32 {
  const low = mix(mix(scope ^ seed, load<u64>(word)), load<u64>(word, 8))
  // Mixed once more, so that the word's last 16 bits also affect the low bits, which select a place.
  return mix(mix(mix(low, load<u64>(word, 16)), load<u64>(word, 24)), seed) as u32
}
