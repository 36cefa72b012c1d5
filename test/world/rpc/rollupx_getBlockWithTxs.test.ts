// @shares
import t from 'tap'
import { startRollups } from '../../rollup/rollupService.js'
import { startSequencer } from '../../rollup/sequencer.js'
import { checkRefusals } from '../../rpc/questions.js'

const method = 'rollupx_getBlockWithTxs'
const sequencer = await startSequencer(t)
const { roll, gate, bare } = await startRollups(t, {
  roll: { upstream: { url: sequencer.origin, prefix: 'starknet' } },
  gate: { upstream: { url: `${sequencer.origin}/gateway`, form: 'gateway', readUrl: sequencer.origin } },
  bare: { upstream: { url: `${sequencer.origin}/gateway`, form: 'gateway' } },
})

t.test('the block is named as it was', async (t) => {
  for (const name of ['latest', { block_number: 7 }, { block_hash: '0x1' }]) {
    const block = { block_number: 7, starknet_version: JSON.stringify(name), transactions: [] }
    t.match((await roll.call(method, [name])).result, block)
    t.match((await gate.call(method, { block_id: name })).result, block)
  }
  const why = 'want a block tag, or an object with block_hash or block_number, got'
  await checkRefusals(t, roll, method, [
    [[], -32602, 'missing value for required argument 0'],
    [[7], -32602, `invalid argument 0: ${why} number`],
    [[[]], -32602, `invalid argument 0: ${why} array`],
  ])
})

t.test('without an endpoint for reads it is refused', async (t) => {
  const { error } = await bare.call(method, ['latest'])
  t.equal(error?.code, -32000)
  t.match(error?.message, 'this network reads nothing from a sequencer')
})
