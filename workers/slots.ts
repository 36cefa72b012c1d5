/** Entry of pool threads for mapping slots in bulk. */
import { computeWrittenSlots } from '../src/data/state/writtenKeys.js'
import { jobHandler } from './jobThread.js'

export const mappingSlots = jobHandler(computeWrittenSlots)
