/** Limits that contradict each other, or that cannot be kept. */
import t from 'tap'
import { resolveServeConfig } from '../../../../src/operation/config/config.js'
import { refusal, writeConfig } from './folder.js'

t.test('bodies still arriving must have room for the largest', async (t) => {
  t.equal(
    refusal(t.testdir(), { limits: { bodyBytesMax: 2 ** 29 } }).split('\n')[1],
    '  limits.bufferedBodyBytesMax: expected at least bodyBytesMax (536870912), got 268435456',
  )
})

t.test('the largest bound of a queue is no less than that of a subscription without one', async (t) => {
  t.equal(
    refusal(t.testdir(), { limits: { subscriptionQueueBytes: 2 ** 25 } }).split('\n')[1],
    '  limits.subscriptionQueueBytesMax: expected at least subscriptionQueueBytes (33554432), got 16777216',
  )
})

t.test('clients must be pinged before they count as silent', async (t) => {
  t.equal(
    refusal(t.testdir(), { limits: { socketPingMs: 120_000 } }).split('\n')[1],
    '  limits.socketIdleMsMax: expected more than socketPingMs (120000), got 120000',
  )
})

t.test('a time for which no timer can wait is refused', async (t) => {
  const tooLong = 2 ** 31
  const names = ['requestMsMax', 'bodyMsMax', 'filterIdleMsMax', 'executionMsMax', 'traceMsMax']
  names.push('socketPingMs', 'socketIdleMsMax')
  const limits = Object.fromEntries(names.map((name) => [name, tooLong]))
  const text = refusal(t.testdir(), { graceMs: tooLong, limits })
  for (const name of ['graceMs', ...names.map((each) => `limits.${each}`)]) {
    t.match(text, new RegExp(`^  ${name}: expected an integer from \\d+ to 2147483647, got 2147483648$`, 'm'))
  }
})

t.test('an answer of a rollup waits for a verdict less long than a request may take', async (t) => {
  const waits = (requestMsMax: number, upstream: object) => {
    const networks = [
      { name: 'roll', kind: 'rollup', chainId: 'X', upstream: { url: 'http://127.0.0.1:1', ...upstream } },
    ]
    const config = writeConfig(t.testdir(), { limits: { requestMsMax }, networks })
    return resolveServeConfig({ config }).rollups[0]?.verdictMsMax
  }
  t.equal(waits(30_000, {}), 10_000)
  t.equal(waits(5_000, {}), 4_000)
  t.equal(waits(500, {}), 0)
  t.equal(waits(5_000, { waitMs: 4_999 }), 4_999)
  t.throws(() => waits(5_000, { waitMs: 5_000 }), /waitMs: expected less than limits.requestMsMax \(5000\)/)
  t.equal(waits(5_000, { mode: 'accept' }), undefined)
})
