import type { ForkSchedule } from '../../src/data/chain/forks.js'
import { PartRunner, type PartsTask } from '../../src/execution/evm/blocks/blockPart.js'
import type { PartThread } from '../../src/execution/evm/blocks/executeInParts.js'
import type { Dice } from '../library/property.js'

/** Runs as many shares of each block as the dice say, on the caller's thread, before the executor takes any. */
export class DicedThread implements PartThread {
  readonly taken = new Int32Array(new SharedArrayBuffer(4))
  readonly #runner: PartRunner
  readonly #dice: Dice
  /** Blocks of which it ran shares. */
  blocks = 0

  constructor(schedule: ForkSchedule, dice: Dice) {
    this.#runner = new PartRunner(schedule)
    this.#dice = dice
  }

  isWorth(): boolean {
    return true
  }

  readonly run = async (task: PartsTask): Promise<Uint8Array> => {
    const shares = task.starts.length - 1
    const own = this.#dice.throw(shares + 1)
    this.taken[0] = shares - own
    const parts = this.#runner.run(structuredClone(task), this.taken)
    this.taken[0] = own
    this.blocks++
    return parts
  }
}
