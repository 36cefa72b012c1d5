/** Entry of pool threads for hashes that need no store: mapping slots in bulk, and hashes of invoke transactions. */
import { computeWrittenSlots } from '../src/data/state/writtenKeys.js'
import { computeInvokeHash } from '../src/serving/rollup/invokeHash.js'
import { jobHandler } from './jobThread.js'

export const mappingSlots = jobHandler(computeWrittenSlots)
export const invokeHash = jobHandler(computeInvokeHash)
