import type { BlockName } from '../../../data/store/chainRows.js'
import type { BlockChanges, ProvedValues } from '../../../data/store/heldValues.js'
import { equalBytes, type Hash32, latin1Key, latin1KeyToBytes } from '../../../primitives/bytes.js'

/** Blocks whose changes are kept: an answer is seldom older. Those of a block of 36 million gas take some 3 MB. */
const blocksMax = 8

interface RecentBlock extends BlockName {
  readonly parentHash: Uint8Array
  readonly changes: BlockChanges
}

/** What the newest blocks changed: with it, what was proved after one of them becomes what holds after the head. */
export class RecentChanges {
  #blocks: RecentBlock[] = []

  add(block: RecentBlock): void {
    this.#blocks.push(block)
    if (this.#blocks.length > blocksMax) this.#blocks.shift()
  }

  /**
   * Values after `head`, from those after `block`; undefined where the changes between them are not known. `isWhole`: slots
   * that are not among them are zero.
   */
  bring(values: ProvedValues, block: Hash32, head: BlockName, isWhole = false): ProvedValues | undefined {
    const between = this.#between(block, head.hash)
    return between?.reduce<ProvedValues | undefined>(
      (before, { changes }) => before && after(before, changes, isWhole),
      values,
    )
  }

  /** The blocks above `block` up to `head`, oldest first. */
  #between(block: Hash32, head: Hash32): RecentBlock[] | undefined {
    const path: RecentBlock[] = []
    let hash: Uint8Array = head
    while (!equalBytes(hash, block)) {
      const next = this.#blocks.find((each) => equalBytes(each.hash, hash))
      if (next === undefined) return undefined
      path.unshift(next)
      hash = next.parentHash
    }
    return path
  }
}

function after(values: ProvedValues, changes: BlockChanges, isWhole: boolean): ProvedValues | undefined {
  const change = changes.get(latin1Key(values.address))
  if (change === undefined) return values
  const account = change.after(values.account)
  if (account === undefined) return undefined
  const before = new Map(values.slots.map(([slot, value]) => [latin1Key(slot), value]))
  for (const [name, value] of change.slots) if (isWhole || before.has(name)) before.set(name, value)
  const slots = [...before].map(([name, value]): [Uint8Array, Uint8Array] => [latin1KeyToBytes(name), value])
  return { address: values.address, account, slots }
}
