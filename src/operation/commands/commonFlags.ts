/** Flags of several commands. */
import { redactUrl } from '../../primitives/redactUrl.js'
import { dataDirDefault, historyBlocksMin } from '../config/config.js'
import { integerFlag, listFlag, textFlag } from './commandLine.js'

/** Flags of all commands that use stores. */
export const common = {
  config: textFlag('FILE', 'configuration file (JSON); flags override it'),
  data: textFlag('DIR', 'folder of all stores', {
    shownDefault: `${dataDirDefault} under the current folder`,
  }),
}

/** Flag of commands that execute blocks. */
export const history = integerFlag('N', 'keep so many blocks of the past (state, tries, receipts, bodies)', {
  min: historyBlocksMin,
})

/** URLs of nodes, whose keys an error message does not show. */
export function urlsFlag(summary: string, isValid: (text: string) => boolean, expected: string) {
  return listFlag('URL', summary, { isValid, expected, redact: redactUrl })
}
