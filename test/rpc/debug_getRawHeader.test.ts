import { encode, examples, keccak } from './demoChain.js'
import { checkRawBlocks } from './rawBlocks.js'

await checkRawBlocks(
  'debug_getRawHeader',
  ({ header }) => encode(header),
  (header) => keccak(header) === examples.genesisHash,
)
