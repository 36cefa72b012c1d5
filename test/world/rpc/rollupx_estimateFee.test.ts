// @shares
import t from 'tap'
import { startRollups } from '../../rollup/rollupService.js'
import { startSequencer } from '../../rollup/sequencer.js'
import { checkRefusals } from '../../rpc/questions.js'

const method = 'rollupx_estimateFee'
const sequencer = await startSequencer(t)
const { roll, bare } = await startRollups(t, {
  roll: { upstream: { url: sequencer.origin, prefix: 'starknet' } },
  bare: { upstream: { url: `${sequencer.origin}/gateway`, form: 'gateway' } },
})
const request = [{ type: 'INVOKE' }, { type: 'INVOKE' }]
const simulation_flags = ['SKIP_VALIDATE']

t.test('it is the fee of each transaction that the sequencer answers, by name and by position', async (t) => {
  for (const params of [
    [request, simulation_flags, 'latest'],
    { request, simulation_flags, block_id: 'latest' },
  ]) {
    const { result } = await roll.call(method, params)
    t.equal(result.length, 2)
    t.match(result[0], { overall_fee: '0x50' }, 'with these flags')
  }
})

t.test('what is no request is refused', async (t) => {
  await checkRefusals(t, roll, method, [
    [[request, []], -32602, 'missing value for required argument 2'],
    [['0x1', [], 'latest'], -32602, 'invalid argument 0: want an array of transactions, got string'],
  ])
})

t.test('without an endpoint for reads it is refused', async (t) => {
  t.match((await bare.call(method, [request, [], 'latest'])).error, {
    code: -32000,
    message: /this network reads nothing from a sequencer/,
  })
})
