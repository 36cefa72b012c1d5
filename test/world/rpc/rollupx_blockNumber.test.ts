// @shares
import t from 'tap'
import { startRollups } from '../../rollup/rollupService.js'
import { startSequencer } from '../../rollup/sequencer.js'
import { checkRefusals } from '../../rpc/questions.js'

const method = 'rollupx_blockNumber'
const sequencer = await startSequencer(t)
const { roll, gate, bare } = await startRollups(t, {
  roll: { upstream: { url: sequencer.origin, prefix: 'starknet' } },
  gate: { upstream: { url: `${sequencer.origin}/gateway`, form: 'gateway', readUrl: sequencer.origin } },
  bare: { upstream: { url: `${sequencer.origin}/gateway`, form: 'gateway' } },
})

t.test('it is the number that the sequencer answers', async (t) => {
  for (const service of [roll, gate]) t.equal((await service.call(method)).result, 7)
  await checkRefusals(t, roll, method, [[[1], -32602, 'too many arguments, want at most 0']])
})

t.test('a sequencer that has no word, or a strange one, is a fault that says so', async (t) => {
  const page = { status: 200, body: 'maintenance' }
  await sequencer.order({ kind: 'say', next: [{ ...page, status: 503 }, page, { status: 200, body: '{}' }] })
  await checkRefusals(t, roll, method, [
    [[], -32000, 'the sequencer did not answer: HTTP status 503'],
    [[], -32000, 'the sequencer did not answer: HTTP status 200, neither a result nor an error'],
    [[], -32000, 'the sequencer did not answer: HTTP status 200, neither a result nor an error'],
  ])
  await sequencer.order({ kind: 'stop' })
  await checkRefusals(t, roll, method, [[[], -32000, 'the sequencer did not answer: ECONNREFUSED']])
  await sequencer.order({ kind: 'start' })
})

t.test('without an endpoint for reads it is refused', async (t) => {
  const { error } = await bare.call(method, [])
  t.equal(error?.code, -32000)
  t.match(error?.message, 'this network reads nothing from a sequencer')
})
