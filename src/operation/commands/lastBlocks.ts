/** The newest blocks of a network, as the admin API lists them. */

import { bytesToHex } from '../../primitives/bytes.js'
import { UsageError } from '../../primitives/faults.js'
import { NotHeldError } from '../../primitives/notHeld.js'
import type { LastBlock } from '../admin/shapes.js'
import type { OpenNetwork } from '../edge/openNetwork.js'
import { isoTime } from './liveState.js'

/** As many as one looks at without searching. */
const blocksMax = 10

/** Newest first; of a gateway those that it holds. Throws UsageError where no network with blocks has this name. */
export function readLastBlocks(networks: readonly OpenNetwork[], name: string): LastBlock[] {
  const network = networks.find((candidate) => candidate.name === name)
  if (network === undefined) throw new UsageError(`there is no network "${name}" with blocks`)
  if (network.opening !== undefined) return []
  const { chain, head } = network.current
  const blocks: LastBlock[] = []
  let { hash } = head
  while (blocks.length < blocksMax) {
    const header = held(() => chain.readHeader(hash))
    if (header === undefined) break
    blocks.push({
      number: header.number,
      hash: bytesToHex(hash),
      timestamp: isoTime(Number(header.timestamp) * 1_000),
      transactions: held(() => chain.readBlock(hash))?.transactionCount ?? null,
      gasUsed: Number(header.gasUsed),
      gasLimit: Number(header.gasLimit),
    })
    if (header.number === 0) break
    hash = header.parentHash
  }
  return blocks
}

/** What is read; undefined where it would have to be fetched first. */
function held<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof NotHeldError) return undefined
    throw error
  }
}
