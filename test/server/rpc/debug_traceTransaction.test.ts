import t from 'tap'
import { blockAt, examples, unknownHash } from '../../rpc/demoChain.js'
import { checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'debug_traceTransaction'
const service = await startService()
t.teardown(() => service.stop())

const hash = examples.transactions[0]?.hash ?? ''
const traceOf = async (options: unknown) => (await service.call(method, [hash, options])).result

t.test('without options every instruction is listed', async (t) => {
  for (const { hash } of examples.transactions) {
    const plain = (await service.call(method, [hash])).result
    const receipt = (await service.call('eth_getTransactionReceipt', [hash])).result
    t.equal(plain.gas, Number(receipt.gasUsed))
    if (receipt.status !== undefined) t.equal(plain.failed, receipt.status === '0x0')
    t.match(plain.returnValue, /^0x/)
    t.ok(Array.isArray(plain.structLogs))
  }
})

t.test('members of an instruction are left out and added as asked', async (t) => {
  const { transactions } = blockAt(45)
  for (const { hash } of transactions) {
    const names = async (options: object) => {
      const { structLogs } = (await service.call(method, [hash, options])).result
      return new Set(structLogs.flatMap((log: object) => Object.keys(log)))
    }
    const plain = await names({})
    t.notOk(plain.has('memory'))
    t.notOk((await names({ disableStack: true })).has('stack'))
    t.notOk((await names({ disableStorage: true })).has('storage'))
    t.equal((await names({ enableMemory: true })).has('memory'), plain.size > 0)
  }
})

t.test('a limit ends the list after the entry that exceeds it', async (t) => {
  const { transactions } = blockAt(10)
  let cut = 0
  for (const { hash } of transactions) {
    const all = (await service.call(method, [hash])).result.structLogs
    const { structLogs } = (await service.call(method, [hash, { limit: 500 }])).result
    t.strictSame(structLogs, all.slice(0, structLogs.length))
    if (structLogs.length === all.length) continue
    cut++
    const bytes = (logs: readonly unknown[]) =>
      logs.reduce<number>((sum, log) => sum + JSON.stringify(log).length, 0)
    t.ok(bytes(structLogs) > 500)
    t.ok(bytes(structLogs.slice(0, -1)) <= 500)
  }
  t.ok(cut > 0)
})

t.test('muxTracer answers what each of its tracers answers alone', async (t) => {
  const tracers = {
    callTracer: { withLog: true },
    flatCallTracer: {},
    prestateTracer: { diffMode: true },
    '4byteTracer': {},
    noopTracer: {},
  }
  const together = await traceOf({ tracer: 'muxTracer', tracerConfig: tracers })
  for (const [tracer, tracerConfig] of Object.entries(tracers)) {
    t.strictSame(together[tracer], await traceOf({ tracer, tracerConfig }), tracer)
  }
  t.strictSame(await traceOf({ tracer: 'noopTracer' }), {})
  t.strictSame(await traceOf({ tracer: 'muxTracer', tracerConfig: {} }), {})
})

t.test('timeout and reexec are accepted', async (t) => {
  for (const timeout of ['5s', '1m30s', '300ms', '1.5h']) {
    t.ok(await traceOf({ timeout, reexec: 128 }), timeout)
  }
})

t.test('what cannot be traced is refused', async (t) => {
  const tracers =
    'write one in JavaScript, which begins with {, where the network runs such, or choose one of callTracer, flatCallTracer, prestateTracer, erc7562Tracer, keccak256PreimageTracer, 4byteTracer, noopTracer, muxTracer, opcountTracer, unigramTracer, bigramTracer, trigramTracer, evmdisTracer'
  await checkRefusals(t, service, method, [
    [[unknownHash], -32000, 'transaction not found'],
    [[], -32602, 'missing value for required argument 0'],
    [[hash, { tracer: '{step: 1}' }], -32000, 'trace object must expose a function result()'],
    [[hash, { tracer: 'constructor' }], -32000, `tracer "constructor" is not known: ${tracers}`],
    [
      [hash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true, includeEmpty: true } }],
      -32000,
      'cannot use diffMode with includeEmpty',
    ],
    [[hash, { timeout: 'bad' }], -32000, 'time: invalid duration "bad"'],
    [[hash, { tracer: 7 }], -32602, 'invalid argument 1: want a string, got number'],
    [[hash, { enableMemory: 1 }], -32602, 'invalid argument 1: want a boolean for enableMemory, got number'],
    [[hash, []], -32602, 'invalid argument 1: want an object for trace options, got array'],
  ])
})
