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
export const history = integerFlag('N', 'keep so many blocks of the past (state, tries, receipts, bodies)', {
  min: historyBlocksMin,
  max: Number.MAX_SAFE_INTEGER,
})
