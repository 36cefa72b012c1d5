// @shares
/** Methods that are not there, over the real server. */
import t from 'tap'
import { startRollup } from '../../rollup/rollupService.js'
import { startService } from '../../service/service.js'

const missing = (method: string) => `the method ${method} does not exist/is not available`

t.test('a method with a slip in its name has the right one in its refusal', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  for (const [written, meant] of [
    ['eth_getBalanc', 'eth_getBalance'],
    ['eth_getblockByNumbr', 'eth_getBlockByNumber'],
    ['ethgetProof', 'eth_getProof'],
    ['debug_getRawTx', undefined],
    // go-ethereum has no coinbase and no protocol version any more.
    ['eth_coinbase', undefined],
    ['eth_protocolVersion', undefined],
    ['constructor', undefined],
    ['', undefined],
    ['x'.repeat(2_000), undefined],
  ] as const) {
    const { error } = await service.call(written)
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`
    t.strictSame(error, { code: -32601, message: missing(written) + hint })
  }
})

t.test('the methods of a rollup are meant by their prefix', async (t) => {
  const service = await startRollup(t)
  const { error } = await service.call('rollupx_chainID_')
  t.strictSame(error, {
    code: -32601,
    message: `${missing('rollupx_chainID_')}; did you mean rollupx_chainId?`,
  })
})
