import t from 'tap'
import { askChainId } from '../../../../src/sources/upstream/askChain.js'
import { NodeError, type Upstream } from '../../../../src/sources/upstream/upstream.js'

const refused = new NodeError({} as Upstream, -32601, 'the method does not exist', undefined)
const parted = (extraData: string) => ({ hash: `0x${'11'.repeat(32)}`, number: '0x1d4c00', extraData })
const ofEthereum = parted('0x64616f2d686172642d666f726b')
const ofClassic = parted('0xe4b883e5bda9e7a59ee4bb99e9b1bc')

/** The answers of a node, by method; for the block at which Ethereum Classic split off, in one of two forms. */
const nodes: readonly (readonly [
  title: string,
  answers: Readonly<Record<string, unknown>>,
  id: number | undefined,
])[] = [
  ['tells its chain id', { eth_chainId: '0x1', eth_getBlockByNumber: ofClassic }, 1],
  ['tells its network id alone', { net_version: '5' }, 5],
  ['tells nothing', {}, undefined],
  ['of Ethereum', { net_version: '1', eth_getBlockByNumber: ofEthereum }, 1],
  ['of Ethereum Classic', { net_version: '1', eth_getBlockByNumber: ofClassic }, 61],
  ['of Ethereum, with headers alone', { net_version: '1', eth_getHeaderByNumber: ofEthereum }, 1],
  ['of Ethereum Classic, with headers alone', { net_version: '1', eth_getHeaderByNumber: ofClassic }, 61],
  ['whose history is pruned', { net_version: '1' }, 1],
  ['with fewer blocks', { net_version: '1', eth_getBlockByNumber: null, eth_getHeaderByNumber: null }, 1],
]

for (const [title, answers, id] of nodes) {
  t.test(`the chain id of a node: ${title}`, async (t) => {
    const reported = await askChainId(async (method) => {
      const answer = answers[method]
      if (answer === undefined) throw refused
      return answer
    })
    t.equal(reported.id, id)
    t.equal(reported.why === undefined, 'eth_chainId' in answers, 'says why it is not told as it should be')
  })
}
