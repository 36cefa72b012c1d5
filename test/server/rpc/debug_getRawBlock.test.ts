import { blockBytes, decodeBlock, examples } from '../../rpc/demoChain.js'
import { checkRawBlocks } from '../../rpc/rawBlocks.js'

await checkRawBlocks(
  'debug_getRawBlock',
  ({ number }) => blockBytes[number - 1] as Uint8Array,
  (block) => {
    const { hash, transactions, uncles } = decodeBlock(block, 0n)
    return hash === examples.genesisHash && transactions.length + uncles.length === 0
  },
)
