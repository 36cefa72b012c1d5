/** The blocks of a call as operators see them, from written and from decoded parameters of all methods. */
import t from 'tap'
import { blocksOfCall } from '../../../../src/serving/rpc/dispatch/blocksOfCall.js'
import { methods } from '../../../../src/serving/rpc/registry.js'

const head = 271
const hash = `0x${'ab'.repeat(32)}`

/** The text for a call of this method, with parameters as a caller writes them. */
function ofWritten(method: keyof typeof methods, params: unknown): string | undefined {
  return blocksOfCall(methods[method].params, { params, args: undefined }, head)
}

t.test(
  'every parameter that is a block is found, as written and decoded, by place and by name',
  async (t) => {
    const blocks = Object.values(methods).flatMap((method) =>
      method.params.flatMap((param, at) => (param.schema.title === 'block' ? [{ method, param, at }] : [])),
    )
    t.ok(blocks.length > 30, `${blocks.length} parameters`)
    for (const { method, param, at } of blocks) {
      const call = (value: unknown) => ({ params: [...new Array(at).fill('0x1'), value], args: undefined })
      t.equal(blocksOfCall(method.params, call('0x10'), head), '16', method.name)
      t.equal(blocksOfCall(method.params, call('latest'), head), 'latest (271)', method.name)
      const decoded = { params: undefined, args: [...new Array(at).fill(0n), param.decode('0x10', at)] }
      t.equal(blocksOfCall(method.params, decoded, head), '16', `${method.name}, decoded`)
      const named = { params: { [param.name]: '0x10' }, args: undefined }
      t.equal(blocksOfCall(method.params, named, head), '16', `${method.name}, by name`)
    }
  },
)

t.test('hashes, objects, ranges and absent values', async (t) => {
  const account = `0x${'11'.repeat(20)}`
  t.equal(ofWritten('eth_getBlockByHash', [hash, false]), hash)
  t.equal(ofWritten('eth_getBalance', [account]), 'latest (271)', 'a default')
  t.equal(ofWritten('eth_getBalance', [account, null]), 'latest (271)', 'null')
  t.equal(ofWritten('eth_getBalance', [account, { blockHash: hash }]), hash)
  t.equal(ofWritten('eth_getBalance', [account, { blockNumber: '0xa' }]), '10')
  t.equal(ofWritten('eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x14' }]), '1 to 20')
  t.equal(ofWritten('eth_getLogs', [{ fromBlock: '0x1' }]), '1 to latest (271)')
  t.equal(ofWritten('eth_getLogs', [{}]), 'latest (271)')
  t.equal(ofWritten('eth_getLogs', [{ blockHash: hash }]), hash)
  t.equal(ofWritten('ots_searchTransactionsBefore', [account, 12, 5]), '12')
  t.equal(ofWritten('eth_chainId', []), undefined, 'a method without blocks')
})

t.test('text that is no block is not shown', async (t) => {
  const wrong = [
    'secret',
    '0x',
    '0xzz',
    '1'.repeat(40),
    -1n,
    [],
    {},
    true,
    { blockNumber: { blockNumber: '0x1' } },
  ]
  for (const value of wrong) t.equal(ofWritten('eth_getBalance', ['0x', value]), undefined, String(value))
  for (const params of ['text', 7, true]) t.equal(ofWritten('eth_getBlockByNumber', params), undefined)
})
