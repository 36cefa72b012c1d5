/** Tracers of callers in JavaScript: their functions, and the limits that end them. */
import { getCreateAddress } from 'ethers'
import t from 'tap'
import { addressOf, blockAt, quantity } from '../../rpc/demoChain.js'
import { askResults } from '../../rpc/questions.js'
import { startKeyedDemo } from '../../service/keyedDemo.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())
const { hash } = blockAt(45).transactions[0] ?? { hash: '0x' }

/** The outcome of a function in the sandbox. */
async function run(
  body: string,
  timeout = '60s',
): Promise<{ result?: unknown; error?: { code: number; message: string } }> {
  const tracer = `{ fault: function () {}, result: function (ctx, db) { ${body} } }`
  return service.call('debug_traceTransaction', [hash, { tracer, timeout }])
}

t.test('there is nothing to reach from inside', async (t) => {
  const names = [
    'process',
    'require',
    'module',
    'fetch',
    'globalThis.process',
    'setTimeout',
    'WebAssembly',
    'std',
    'os',
  ]
  const seen = names.map((name) => `typeof ${name}`).join()
  t.strictSame(
    (await run(`return [${seen}]`)).result,
    names.map(() => 'undefined'),
  )
  const reaching = "return typeof (function () {}).constructor('return this')().process"
  t.equal((await run(reaching)).result, 'undefined')
  t.equal((await run("return import('fs') && 1")).result, 1)
})

t.test('one run leaves nothing to the next', async (t) => {
  await run('globalThis.kept = 1; Array.prototype.push = null; Object.prototype.polluted = 1; return 1')
  t.strictSame((await run('return [typeof kept, typeof [].push, typeof ({}).polluted]')).result, [
    'undefined',
    'function',
    'undefined',
  ])
})

t.test('what does not end, or takes too much, is ended', async (t) => {
  t.match((await run('for (;;);', '200ms')).error, { code: -32000, message: /timeout/ })
  const endless = await service.call('debug_traceTransaction', [
    hash,
    {
      tracer: '{ fault: function () {}, step: function () { for (;;); }, result: function () {} }',
      timeout: '50ms',
    },
  ])
  t.match(endless.error, { code: -32000, message: /timeout/ })
  t.match((await run("var a = 'x'; for (;;) a += a")).error, {
    code: -32000,
    message: /server-side tracer function 'result'/,
  })
  t.match((await run('var a = []; for (;;) a.push(new Uint8Array(1e6))')).error, {
    code: -32000,
    message: /memory/,
  })
  t.match((await run('function f() { return f() + 1 } return f()')).error, { code: -32000, message: /stack/ })
  t.match((await run("throw 'no'")).error, { message: "no    in server-side tracer function 'result'" })
  t.match((await run('return x')).error, { message: /ReferenceError.*'result'/ })
  t.equal((await run('return 7')).result, 7, 'the thread still works')
})

t.test('what is no tracer is refused', async (t) => {
  const refused = async (tracer: string) =>
    (await service.call('debug_traceTransaction', [hash, { tracer }])).error?.message
  t.match(await refused('{nonsense'), /SyntaxError/)
  t.equal(await refused('{ result: function () {} }'), 'trace object must expose a function fault()')
  t.equal(await refused('{ fault: function () {} }'), 'trace object must expose a function result()')
  const half = '{ fault: function () {}, result: function () {}, enter: function () {} }'
  t.equal(await refused(half), 'trace object must expose either both or none of enter() and exit()')
  t.match(await refused(`{${' '.repeat(100_000)}}`), /at most 100000 characters/)
  t.match(await refused('nonsense'), /is not known/)
})

t.test('a tracer sees the transaction, the state and its configuration', async (t) => {
  const creator = addressOf('bea')
  const tracer = `// A comment, as before Blockscout's tracer.
  /* And another. */ {
    faults: [], steps: 0,
    setup: function (text) { this.config = JSON.parse(text) },
    step: function (log, db) { this.steps++ },
    fault: function (log, db) { this.faults.push([log.op.toString(), log.getError()]) },
    result: function (ctx, db) {
      return {
        config: this.config, steps: this.steps, faults: this.faults, gas: ctx.gas, gasUsed: ctx.gasUsed,
        from: toHex(ctx.from), value: ctx.value, block: ctx.block, hash: ctx.txHash && toHex(ctx.txHash),
        balance: db.getBalance(ctx.from), code: db.getCode(ctx.to).length, exists: db.exists(ctx.to),
        one: isPrecompiled(toAddress('0x1')), big: bigInt(2).pow(200).add(1).plus(bigInt.zero).toString(16),
        created: toHex(toContract('${creator}', 0)),
        word: toHex(toWord('0x12')), cut: toHex(slice(toWord('0x1234'), 30, 32)),
      }
    },
  }`
  const options = { tracer, tracerConfig: { depth: 3 } }
  const { transactions } = blockAt(45)
  const [list, calls] = await askResults(service, [
    ['debug_traceBlockByNumber', [quantity(45), options]],
    ['debug_traceBlockByNumber', [quantity(45), {}]],
  ])
  const [receipts] = await askResults(service, [['eth_getBlockReceipts', [quantity(45)]]])
  for (const [at, { txHash, result }] of list.entries()) {
    t.equal(txHash, transactions[at]?.hash)
    t.match(result, {
      config: { depth: 3 },
      block: 45,
      hash: txHash,
      one: true,
      big: `1${'0'.repeat(49)}1`,
      from: receipts[at].from,
      gasUsed: Number(receipts[at].gasUsed),
      exists: true,
      created: getCreateAddress({ from: creator, nonce: 0 }).toLowerCase(),
      word: `0x${'0'.repeat(62)}12`,
      cut: '0x1234',
    })
    t.match(result.balance, /^\d+$/)
    t.equal(result.steps, calls[at].result.structLogs.length)
  }
  const failing = { from: addressOf('bea'), to: `0x${'7'.repeat(40)}`, gas: '0x186a0' }
  const codes: [code: string, faults: unknown][] = [
    ['0x60006000fd', [['REVERT', 'execution reverted']]],
    ['0xfe', [['INVALID', 'invalid opcode: INVALID']]],
    ['0x600556', [['JUMP', 'invalid jump destination']]],
    ['0x01', []],
  ]
  for (const [code, faults] of codes) {
    const stateOverrides = { [failing.to]: { code } }
    const [{ faults: got }] = await askResults(service, [
      ['debug_traceCall', [failing, 'latest', { tracer, stateOverrides }]],
    ])
    t.strictSame(got, faults, code)
  }
})

t.test('a network that runs none says so, and which others there are', async (t) => {
  const { service, keys } = await startKeyedDemo(t, ['one'], {})
  t.teardown(() => service.stop())
  const ask = async (method: string, params: readonly unknown[]) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return JSON.parse((await service.post(`/v3/${keys[0]}`, body)).text)
  }
  const tracer = '{ fault: function () {}, result: function () { return 1 } }'
  const call = { to: addressOf('bea') }
  const bundles = [{ transactions: [call] }]
  const refused = {
    code: -32000,
    message:
      /^this network runs no tracer that a caller writes in JavaScript: choose one of callTracer, .*evmdisTracer$/,
  }
  for (const [method, params] of [
    ['debug_traceTransaction', [hash]],
    ['debug_traceBlockByNumber', [quantity(45)]],
    ['debug_traceBlockByHash', [blockAt(45).hash]],
    ['debug_traceCall', [call, 'latest']],
    ['debug_traceCallMany', [bundles, { blockNumber: 'latest' }]],
  ] as const) {
    t.match((await ask(method, [...params, { tracer }])).error, refused, method)
    t.ok('result' in (await ask(method, [...params, { tracer: 'callTracer' }])), `${method} by another`)
  }
  t.type((await ask('debug_traceTransaction', [hash, { tracer: 'opcountTracer' }])).result, 'number')
})
