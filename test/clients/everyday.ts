/** The first calls of every client, and their expected answers: facts of the demo chain, by the code of others. */
import { encodeCall } from '../../data/devnet/abi.js'
import { addressOf, blocks, examples, headBlock, hex } from '../rpc/demoChain.js'
import { baseFeeOf, expectedTransaction } from '../rpc/transactionOracle.js'

const ada = examples.accounts.find(({ name }) => name === 'ada')
if (ada === undefined) throw new RangeError('nobody is called ada')
const sent = blocks.flatMap((block) =>
  block.transactions.map((_, index) => expectedTransaction(block, index)),
)
const ofAda = sent.filter(({ from }) => from === ada.address)
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

export const facts = {
  chainId: examples.chainId,
  head: headBlock,
  headBaseFee: baseFeeOf(headBlock),
  tide: addressOf('Tide'),
  ada: ada.address,
  bea: addressOf('bea'),
  adaBalance: BigInt(ada.balance),
  adaNonce: ofAda.length,
  /** A transaction of the newest type that a sender without blobs and delegations uses. */
  transaction: sent.findLast(({ type }) => type === '0x2') as Record<string, string>,
  transactionCount: sent.length,
  /** Supply of the token, in decimal units. */
  totalSupply: 10n ** 27n,
  totalSupplyCall: hex(encodeCall('totalSupply()', [])),
  transferTopic,
} as const
