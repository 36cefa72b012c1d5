/**
 * Data limits of built blocks for batches on L1, as op-batcher sets them (`miner_setMaxDASize` of op-geth). They limit
 * the bytes of one transaction and of a block, by op-geth's estimate. Only waiting transactions are counted.
 */
import { parseQuantity } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import type { DataLimits } from '../develop/blockMaker.js'

/** The parameters of the method, in which zero is no limit. Throws FaultError. */
export function readDataLimits(params: unknown): DataLimits {
  if (!Array.isArray(params)) throw new FaultError({ kind: 'ParamsNotArray' })
  const [ofTransaction, ofBlock] = ['maxTxSize', 'maxBlockSize'].map((name, index) => {
    const bytes = parseQuantity(params[index])
    if (bytes !== undefined) return bytes === 0n ? undefined : bytes
    throw new FaultError({ kind: 'InvalidArgument', index, why: `want ${name}, a quantity of bytes` })
  })
  return { ofTransaction, ofBlock }
}

/** The limits as a sentence; undefined without limits. */
export function dataLimitsText({ ofTransaction, ofBlock }: DataLimits): string | undefined {
  if (ofTransaction === undefined && ofBlock === undefined) return undefined
  const most = (bytes: bigint | undefined) => (bytes === undefined ? 'any number of' : `at most ${bytes}`)
  return `built blocks put ${most(ofBlock)} bytes on L1, and each waiting transaction ${most(ofTransaction)}, as a caller of miner_setMaxDASize asks`
}
