// @shares
import t from 'tap'
import { startRollups } from '../../rollup/rollupService.js'
import { startSequencer } from '../../rollup/sequencer.js'
import { checkRefusals } from '../../rpc/questions.js'

const method = 'rollupx_getNonce'
const sequencer = await startSequencer(t)
const { roll, gate, bare } = await startRollups(t, {
  roll: { upstream: { url: sequencer.origin, prefix: 'starknet' } },
  gate: { upstream: { url: `${sequencer.origin}/gateway`, form: 'gateway', readUrl: sequencer.origin } },
  bare: { upstream: { url: `${sequencer.origin}/gateway`, form: 'gateway' } },
})

t.test('it is the nonce that the sequencer answers, by name and by position', async (t) => {
  for (const service of [roll, gate]) {
    t.equal((await service.call(method, ['latest', '0x71de'])).result, '0x0')
    const named = { block_id: 'latest', contract_address: '0x071de' }
    t.equal((await service.call(method, named)).result, '0x0')
  }
})

t.test('what the sequencer refuses is refused in its words', async (t) => {
  await checkRefusals(t, roll, method, [
    [[{ block_number: 99 }, '0x1'], 24, 'Block not found'],
    [['latest'], -32602, 'missing value for required argument 1'],
    [['latest', 1], -32602, 'invalid argument 1: want a contract address, got number'],
    [['latest', 'x'], -32602, 'invalid argument 1: want a contract address of 1 to 64 hex digits'],
  ])
})

t.test('without an endpoint for reads it is refused', async (t) => {
  const { error } = await bare.call(method, ['latest', '0x1'])
  t.equal(error?.code, -32000)
  t.match(error?.message, 'this network reads nothing from a sequencer')
})
