import { encode, examples, keccak } from '../../rpc/demoChain.js'
import { checkRawBlocks } from '../../rpc/rawBlocks.js'

await checkRawBlocks(
  'debug_getRawHeader',
  ({ header }) => encode(header),
  (header) => keccak(header) === examples.genesisHash,
)
