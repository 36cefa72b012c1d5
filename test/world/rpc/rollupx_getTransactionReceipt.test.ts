// @shares
import t from 'tap'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { startRollups } from '../../rollup/rollupService.js'
import { startSequencer } from '../../rollup/sequencer.js'
import { checkRefusals } from '../../rpc/questions.js'

const method = 'rollupx_getTransactionReceipt'
const sequencer = await startSequencer(t)
const { roll, gate, bare } = await startRollups(t, {
  roll: { upstream: { url: sequencer.origin, prefix: 'starknet' } },
  gate: { upstream: { url: `${sequencer.origin}/gateway`, form: 'gateway', readUrl: sequencer.origin } },
  bare: { upstream: { url: `${sequencer.origin}/gateway`, form: 'gateway' } },
})

t.test('it is the receipt that the sequencer has', async (t) => {
  const hash = await roll.take(makeTransaction(1, 2))
  const receipt = { type: 'INVOKE', transaction_hash: hash, finality_status: 'ACCEPTED_ON_L2' }
  for (const service of [roll, gate]) t.match((await service.call(method, [hash])).result, receipt)
})

t.test('what the sequencer does not know is refused in its words', async (t) => {
  const { error } = await roll.call(method, ['0x1'])
  t.strictSame(error, { code: 29, message: 'Transaction hash not found', data: 'none' })
  await checkRefusals(t, roll, method, [
    [[], -32602, 'missing value for required argument 0'],
    [[7], -32602, 'invalid argument 0: want a transaction hash, got number'],
  ])
})

t.test('without an endpoint for reads it is refused', async (t) => {
  const { error } = await bare.call(method, ['0x1'])
  t.equal(error?.code, -32000)
  t.match(error?.message, 'this network reads nothing from a sequencer')
})
