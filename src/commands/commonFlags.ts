/** Flags of all commands that use stores. */
import { dataDirDefault } from '../config/config.js'
import { textFlag } from './commandLine.js'

export const common = {
  config: textFlag('FILE', 'configuration file (JSON); flags override it'),
  data: textFlag('DIR', 'folder of all stores', {
    shownDefault: `${dataDirDefault} under the current folder`,
  }),
}
