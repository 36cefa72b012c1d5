/** Entry of pool threads for hashes of invoke transactions. */
import { computeInvokeHash } from '../src/serving/rollup/invokeHash.js'
import { jobHandler } from './jobThread.js'

export const invokeHash = jobHandler(computeInvokeHash)
