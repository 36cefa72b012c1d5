import t from 'tap'
import { FaultError } from '../../../../src/primitives/faults.js'
import { dataLimitsText, readDataLimits } from '../../../../src/sources/ingest/engine/dataLimits.js'

t.test('limits are quantities, and zero is none', (t) => {
  t.strictSame(readDataLimits(['0x1f4', '0x1d4c0']), { ofTransaction: 500n, ofBlock: 120_000n })
  t.strictSame(readDataLimits(['0x0', '0x1']), { ofTransaction: undefined, ofBlock: 1n })
  for (const params of [null, {}, [], ['0x1'], [1, 2], ['0x1', null], ['x', '0x1'], [[], '0x1']])
    t.throws(() => readDataLimits(params), FaultError, JSON.stringify(params))
  t.end()
})

t.test('the operator reads which limits are in force', (t) => {
  t.equal(dataLimitsText({ ofTransaction: undefined, ofBlock: undefined }), undefined)
  t.match(dataLimitsText({ ofTransaction: undefined, ofBlock: 7n }), /at most 7 bytes on L1/)
  t.match(dataLimitsText({ ofTransaction: 8n, ofBlock: undefined }), /any number of bytes.*at most 8/)
  t.end()
})
