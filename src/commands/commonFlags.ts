/** Flags of several commands. */
import { dataDirDefault, historyBlocksMin } from '../config/config.js'
import { integerFlag, textFlag } from './commandLine.js'

/** Of all commands that use stores. */
export const common = {
  config: textFlag('FILE', 'configuration file (JSON); flags override it'),
  data: textFlag('DIR', 'folder of all stores', {
    shownDefault: `${dataDirDefault} under the current folder`,
  }),
}

/** Of commands that take in blocks to be executed. */
export const history = integerFlag(
  'N',
  'keep state, receipts and bodies of this many blocks below the head, and remove what is older; default: all, or as configured',
  { min: historyBlocksMin, max: Number.MAX_SAFE_INTEGER },
)
