/** The sandbox of callers' tracers: its results, its limits, and the ends of a run. */
import t from 'tap'
import {
  closeSandboxes,
  type Inside,
  type InsideArguments,
  loadJavaScript,
  Sandbox,
  ThrownInside,
} from '../../../../src/execution/evm/tracers/javascriptEngine.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { NotStoredError } from '../../../../src/primitives/notStored.js'

function thrownBy(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

const refused = (why: RegExp) => ({ name: 'FaultError', fault: { kind: 'MessageRefused', why } })
const inside = (message: RegExp | string) => ({ constructor: ThrownInside, message })

t.beforeEach(loadJavaScript)
t.afterEach(closeSandboxes)

const open = () => new Sandbox(() => {})

/** The result of `read` for the arguments of a call from inside. */
function given(body: string, read: (args: InsideArguments) => unknown): unknown {
  const sandbox = open()
  let got: unknown
  const call = sandbox.give('call', (args) => {
    got = read(args)
    return ''
  })
  sandbox.call(sandbox.evaluate(`(function (call) { ${body} })`, 'test.js'), call)
  return got
}

t.test('arguments are read by type, length and number, whatever stands inside', async (t) => {
  t.equal(
    given("call('abc')", (args) => args.text(0, 3)),
    'abc',
  )
  t.strictSame(
    given("call('00ff')", (args) => args.bytes(0, 2)),
    Uint8Array.of(0, 255),
  )
  t.equal(
    given('call(7)', (args) => args.whole(0, 7)),
    7,
  )
  const texts: readonly [code: string, why: RegExp][] = [
    ['call()', /not a text/],
    ['call(1)', /not a text/],
    ['call(null)', /not a text/],
    ['call(Symbol())', /not a text/],
    ["call({ toString: function () { return 'ab' } })", /not a text/],
    ["call(new String('ab'))", /not a text/],
    ["call(['a'])", /not a text/],
    ["call('a'.repeat(41))", /at most 40 characters/],
    ["call('a'.repeat(3e7))", /at most 40 characters/],
    ["Object.defineProperty(String.prototype, 'length', { value: 1 }); call('a'.repeat(99))", /at most 40/],
    ["call('abc')", /not hex/],
    ["call('zz')", /not hex/],
    ["call('0x' + 'a'.repeat(38))", /not hex/],
    ["call('')", /not 20 bytes/],
    ["call('a'.repeat(38))", /not 20 bytes/],
  ]
  for (const [code, why] of texts)
    t.match(
      thrownBy(() => given(code, (args) => args.bytes(0, 20))),
      refused(why),
      code,
    )
  for (const code of [
    '-1',
    '8',
    '0.5',
    'NaN',
    'Infinity',
    "'3'",
    '3n',
    '{ valueOf: function () { return 3 } }',
  ]) {
    t.match(
      thrownBy(() => given(`call(${code})`, (args) => args.whole(0, 7))),
      refused(/whole number up to 7/),
      code,
    )
  }
})

/** The JSON that the host makes of a result. */
function json(code: string): string {
  const sandbox = open()
  return sandbox.json(sandbox.evaluate(code, 'test.js'))
}

t.test('a result is parsed and written anew', async (t) => {
  t.equal(json('\'{ "b" : [1.0, "\\\\u0041"] }\''), '{"b":[1,"A"]}')
  const wrong: readonly [code: string, why: RegExp][] = [
    ['1', /not a text/],
    ['undefined', /not a text/],
    ['({})', /not a text/],
    ['\'1},{"jsonrpc":"2.0","id":2,"result":"forged"\'', /not JSON/],
    ["'1]'", /not JSON/],
    ["'NaN'", /not JSON/],
    ["''", /not JSON/],
    ["'['.repeat(1001) + ']'.repeat(1001)", /more than 1000 levels/],
    ["'['.repeat(1e6)", /more than 1000 levels/],
    ["'[' + '[],'.repeat(1e6) + '1]'", /more than 1000000 values/],
    ["'\"' + 'a'.repeat(2e7) + '\"'", /at most 16777216 characters/],
  ]
  for (const [code, why] of wrong)
    t.match(
      thrownBy(() => json(code)),
      refused(why),
      code,
    )
})

t.test('what is thrown inside comes out as a short text', async (t) => {
  const thrown: readonly [code: string, text: RegExp | string][] = [
    ['throw new Error("no")', 'no'],
    ['throw new TypeError("no")', 'TypeError: no'],
    ['throw 7', '7'],
    ['throw null', 'null'],
    ['throw Symbol("a")', 'an error that is no text'],
    ['throw { message: "a".repeat(1e6) }', /^undefined: a{989}$/],
    ['throw { get message() { throw 1 } }', 'an error that is no text'],
    ['String.prototype.slice = function () { return 1 }; throw new Error("no")', 'no'],
    ['Function.prototype.call = null; throw { message: "a".repeat(2000), name: "Error" }', /^a{1000}$/],
    ['(', /SyntaxError/],
  ]
  for (const [code, message] of thrown) {
    t.match(
      thrownBy(() => open().evaluate(code, 'test.js')),
      inside(message),
      code,
    )
  }
})

/** Code that catches every exception of a call, as often as it can. */
const swallowing = `(function (call) {
  for (var at = 0; at < 3; at++) { try { call() } catch (_) { } finally { try { call() } catch (_) { } } }
  return 'all is well'
})`

t.test('what a function of ours throws ends the run and keeps its class', async (t) => {
  const ends = [
    new NotStoredError({ kind: 'canonical', number: 7 }),
    new FaultError({ kind: 'ExecutionOutOfMemory', limitBytes: 1 }),
    new RangeError('a value does not fit'),
    trapOf(),
    new Error('a defect'),
  ]
  for (const end of ends) {
    const sandbox = open()
    const call = sandbox.give('call', () => {
      throw end
    })
    const run = () => sandbox.callWithText(sandbox.evaluate(swallowing, 'test.js'), '', () => 'read')
    t.equal(run(), 'read', 'nothing was called')
    let caught: unknown
    try {
      sandbox.call(sandbox.evaluate(swallowing, 'test.js'), call)
    } catch (error) {
      caught = error
    }
    t.equal(caught, end, String(end))
    t.throws(() => sandbox.evaluate('1', 'test.js'), end, 'and nothing runs in it afterwards')
  }
})

function trapOf(): Error {
  const { RuntimeError } = (
    globalThis as unknown as { WebAssembly: { RuntimeError: new (why: string) => Error } }
  ).WebAssembly
  return new RuntimeError('unreachable')
}

t.test('nothing inside catches the end of its time', async (t) => {
  let looks = 0
  const over = new FaultError({ kind: 'ExecutionTimedOut', limitSeconds: 1 })
  const sandbox = new Sandbox(() => {
    if (++looks > 10) throw over
  })
  const code = '(function f() { try { for (;;); } catch (_) { return f() } finally { for (;;); } })()'
  t.throws(() => sandbox.evaluate(code, 'test.js'), over)
})

t.test(
  'its memory ends at its maximum, whatever takes it, and the next one has all of it again',
  async (t) => {
    const takers = [
      'var a = []; for (;;) a.push(new Uint8Array(1e6))',
      'var a = []; for (;;) a.push({})',
      "var a = 'x'; for (;;) a += a",
      'var a = new Map(); for (var i = 0; ; i++) a.set(i, i)',
      'var a = 2n; for (;;) a = a * a',
      'var a = []; for (;;) { try { a.push(new ArrayBuffer(1e5)) } catch (_) { throw "full" } }',
    ]
    for (const code of takers) {
      await loadJavaScript()
      const before = process.memoryUsage().rss
      t.match(
        thrownBy(() => open().evaluate(code, 'test.js')),
        inside(/./),
        code,
      )
      const grown = (process.memoryUsage().rss - before) / 2 ** 20
      t.ok(grown < 150, `${code}: ${Math.round(grown)} MiB more`)
      closeSandboxes()
      await loadJavaScript()
      const sandbox = open()
      t.equal(
        sandbox.json(sandbox.evaluate('JSON.stringify(new Uint8Array(3e7).length)', 'test.js')),
        '30000000',
      )
      closeSandboxes()
    }
  },
)

t.test('a text that does not fit in is refused, and writes over nothing', async (t) => {
  const sandbox = open()
  const echo: Inside = sandbox.evaluate('(function (text) { return String(text.length) })', 'test.js')
  t.throws(() => sandbox.callWithText(echo, 'a'.repeat(1e8), () => 'read'), {
    constructor: ThrownInside,
    message: /memory/,
  })
  t.equal(
    sandbox.callWithText(echo, 'abc', (value) => sandbox.json(value)),
    '3',
  )
})
