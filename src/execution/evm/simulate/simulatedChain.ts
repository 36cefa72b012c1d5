/** The numbers and times of simulated blocks, with go-ethereum's rules and messages (internal/ethapi/simulate.go). */
import { type Header, type Timestamp, toTimestamp } from '../../../data/chain/header.js'
import { FaultError } from '../../../primitives/faults.js'
import type { BlockStateCalls } from './simulationRequest.js'

/** Limit of blocks in a simulation, including those that fill gaps; the same as go-ethereum's. */
const simulatedBlocksMax = 256
/** Seconds between two blocks: one slot of proof of stake. */
const slotSeconds = 12n
const timeMax = 2n ** 64n - 1n

/** A block with its place in the chain. */
export interface PlannedBlock extends BlockStateCalls {
  readonly number: number
  readonly timestamp: Timestamp
}

/** The blocks in order, with empty ones in the gaps. Throws FaultError SimulationRefused. */
export function planBlocks(
  base: Pick<Header, 'number' | 'timestamp'>,
  blocks: readonly BlockStateCalls[],
): PlannedBlock[] {
  const planned: PlannedBlock[] = []
  let number = BigInt(base.number)
  let timestamp = BigInt(base.timestamp)
  const add = (block: BlockStateCalls): void => {
    if (timestamp > timeMax) {
      throw refused('blockTime', `block timestamps must be at most ${timeMax}: ${timestamp}`)
    }
    planned.push({ ...block, number: Number(number), timestamp: toTimestamp(timestamp) })
  }
  for (const block of blocks) {
    const { number: chosen = number + 1n, time } = block.blockOverrides
    if (chosen <= number) {
      throw refused('blockNumber', `block numbers must be in order: ${chosen} <= ${number}`)
    }
    if (chosen - BigInt(base.number) > simulatedBlocksMax) throw refused('size', 'too many blocks')
    while (number + 1n < chosen) {
      number++
      timestamp += slotSeconds
      add(emptyBlock)
    }
    if (time !== undefined && time <= timestamp) {
      throw refused('blockTime', `block timestamps must be in order: ${time} <= ${timestamp}`)
    }
    number = chosen
    timestamp = time ?? timestamp + slotSeconds
    add(block)
  }
  return planned
}

const emptyBlock: BlockStateCalls = { blockOverrides: {}, stateOverrides: [], calls: [] }

function refused(rule: 'blockNumber' | 'blockTime' | 'size', why: string): FaultError {
  return new FaultError({ kind: 'SimulationRefused', rule, why })
}
