/** Entry of pool threads for mapping slots in bulk. */
import { computeMappingSlots } from '../src/state/mappingSlots.js'
import { jobHandler } from './jobThread.js'

export const mappingSlots = jobHandler(computeMappingSlots)
