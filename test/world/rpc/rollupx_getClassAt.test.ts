// @shares
import t from 'tap'
import { startRollups } from '../../rollup/rollupService.js'
import { startSequencer } from '../../rollup/sequencer.js'
import { checkRefusals } from '../../rpc/questions.js'

const method = 'rollupx_getClassAt'
const sequencer = await startSequencer(t)
const { roll, bare } = await startRollups(t, {
  roll: { upstream: { url: sequencer.origin, prefix: 'starknet' } },
  bare: { upstream: { url: `${sequencer.origin}/gateway`, form: 'gateway' } },
})

t.test('it is the class that the sequencer answers, by name and by position', async (t) => {
  for (const params of [['latest', '0x71de'], { block_id: 'latest', contract_address: '0x071de' }]) {
    t.match((await roll.call(method, params)).result, { sierra_program: ['0x1'], abi: '["0x71de"]' })
  }
})

t.test('what the sequencer refuses is refused in its words', async (t) => {
  await checkRefusals(t, roll, method, [
    [['latest', '0x99'], 20, 'Contract not found'],
    [['latest'], -32602, 'missing value for required argument 1'],
    [['latest', 1], -32602, 'invalid argument 1: want a contract address, got number'],
  ])
})

t.test('without an endpoint for reads it is refused', async (t) => {
  t.match((await bare.call(method, ['latest', '0x1'])).error, {
    code: -32000,
    message: /this network reads nothing from a sequencer/,
  })
})
