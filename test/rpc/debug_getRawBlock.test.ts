import { blockBytes, decodeBlock, examples } from './demoChain.js'
import { checkRawBlocks } from './rawBlocks.js'

await checkRawBlocks(
  'debug_getRawBlock',
  ({ number }) => blockBytes[number - 1] as Uint8Array,
  (block) => {
    const { hash, transactions, uncles } = decodeBlock(block, 0n)
    return hash === examples.genesisHash && transactions.length + uncles.length === 0
  },
)
