/** Entry of pool threads for searches of logs. */
import { type LogBounds, type LogSearch, searchLogs as search } from '../src/data/chain/logSearch.js'
import { FaultError } from '../src/primitives/faults.js'
import { jobHandler } from './jobThread.js'

export const searchLogs = jobHandler(
  (args: { readonly search: LogSearch; readonly bounds: LogBounds }, { store, shouldStop }) => {
    const found = search(store, args.search, args.bounds, shouldStop)
    if (found === undefined) throw new FaultError({ kind: 'RequestTimedOut' })
    return found
  },
)
