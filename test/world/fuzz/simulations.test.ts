// @shares
import fc from 'fast-check'
import t from 'tap'
import { propertyRuns } from '../../library/property.js'
import { addressOf, type Json, quantity } from '../../rpc/demoChain.js'
import { code, findBreach, person, sending, word } from '../../rpc/simulating.js'
import { startService } from '../../service/service.js'
import { returnTop } from '../../unit/execution/evm/assembly.js'

const service = await startService()
t.teardown(() => service.stop())
const tide = addressOf('Tide')
const bea = addressOf('bea')
const cal = addressOf('cal')
const ask = (payload: Json, block: unknown) => service.call('eth_simulateV1', [payload, block])

t.test('any simulation keeps the rules of blocks', async (t) => {
  const somebody = fc.constantFrom(bea, cal, tide, person('1'), person('2'))
  const small = fc.integer({ min: 0, max: 400_000 }).map(quantity)
  const programs = [
    code(sending(person('2'), 1), 'NUMBER', returnTop),
    code(0, 0, 'LOG0', 'TIMESTAMP', 1, 'SSTORE'),
    code(BigInt(cal), 'SELFDESTRUCT'),
    code(0, 0, 'REVERT'),
  ]
  const override = fc.record(
    {
      balance: small,
      nonce: small,
      code: fc.constantFrom(...programs, '0x'),
      stateDiff: fc.constant({ [word(1)]: word(2) }),
    },
    { requiredKeys: [] },
  )
  const message = fc.record(
    { from: somebody, to: somebody, value: small, gas: small, input: fc.constantFrom('0x', '0x0102') },
    { requiredKeys: [] },
  )
  const block = fc.record(
    {
      blockOverrides: fc.record(
        { feeRecipient: somebody, baseFeePerGas: fc.constant('0x0'), gasLimit: fc.constant('0x2faf080') },
        { requiredKeys: [] },
      ),
      stateOverrides: fc.dictionary(somebody, override, { maxKeys: 3 }),
      calls: fc.array(message, { maxLength: 4 }),
    },
    { requiredKeys: [] },
  )
  const payload = fc.record(
    {
      blockStateCalls: fc.array(block, { minLength: 1, maxLength: 4 }),
      traceTransfers: fc.boolean(),
      returnFullTransactions: fc.boolean(),
    },
    { requiredKeys: ['blockStateCalls'] },
  )
  const base = fc.constantFrom('latest', 'pending', '0x1', '0x50', '0xa0', '0xc0', '0xe0')
  let answered = 0
  await fc.assert(
    fc.asyncProperty(payload, base, async (payload, base) => {
      const { result, error } = await ask(payload, base)
      if (error !== undefined) {
        if (error.code === -32603 && error.message === 'internal error') throw new Error(error.message)
        return
      }
      answered++
      const again = await ask({ ...payload, traceTransfers: payload.traceTransfers !== true }, base)
      const hashes = (blocks: Json[]) => blocks.map(({ hash }) => hash)
      if (`${hashes(again.result)}` !== `${hashes(result)}`) throw new Error('transfers change the blocks')
      const breach = findBreach(result)
      if (breach !== undefined) throw new Error(breach)
    }),
    propertyRuns(120),
  )
  t.ok(answered > 10, `${answered} answers`)
})
