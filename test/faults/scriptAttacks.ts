/** Tracers in JavaScript that try to read data of others. */

/** A tracer whose `setup` and `result` have these bodies. */
const tracer = (result: string, setup = '', rest = '') =>
  `{ setup: function () { ${setup} }, fault: function () {}, result: function (ctx, db) { ${result} }${rest} }`

/** Replaces functions so that each length of digits passes the inner checks, and each number looks different. */
const replaced = [
  'String.prototype.padStart = String.prototype.slice = function () { return String(this) }',
  'String.prototype.padStart = function () { return "ee".repeat(2000) }',
  'String.prototype.slice = function () { return "0" }',
  'String.prototype.replace = function () { return "zz" }',
  'Number.prototype.toString = function () { return "eeee" }',
  'globalThis.Number = function () { return 1e15 }',
  'globalThis.BigInt = function () { return -1n }',
  'JSON.parse = function () { return { s: [1, 2, 3, 4, 5, 6, 1e9, 1e9], contract: { caller: {} } } }',
  'Uint8Array.prototype.constructor = Array; Array.isArray = function () { return true }',
]

/** Calls every function with bytes of many lengths, and continues after any exception. */
const asking = `
  var all = [0, 1, 19, 20, 21, 32, 33, 40, 64, 2000, 100000]
  var got = []
  for (var at = 0; at < all.length; at++) {
    var bytes = new Uint8Array(all[at]).fill(0xee)
    var asks = [
      function () { return db.getBalance(bytes).toString(10) }, function () { return db.getNonce(bytes) },
      function () { return db.getCode(bytes).length }, function () { return db.getState(bytes, bytes)[31] },
      function () { return db.exists(bytes) }, function () { return isPrecompiled(bytes) },
      function () { return toContract(bytes, -1) }, function () { return toContract2(bytes, bytes, bytes)[0] },
    ]
    for (var ask = 0; ask < asks.length; ask++) try { got.push(asks[ask]()) } catch (_) { got.push(null) }
  }
  return got.length
`

/** Reads memory and stack at places without any. */
const looking = `, step: function (log) {
  var ends = [0, 1, -1, 2e9, 1e15, NaN, 0.5]
  for (var at = 0; at < ends.length; at++) {
    try { log.stack.peek(ends[at]) } catch (_) {}
    try { log.memory.slice(0, ends[at]) } catch (_) {}
    try { log.memory.slice(ends[at], ends[at] + 1e3) } catch (_) {}
    try { log.memory.getUint(ends[at]) } catch (_) {}
  }
}`

/** Texts that a result returns in place of its JSON. */
export const forgedResults = [
  '1},{"jsonrpc":"2.0","id":2,"result":"forged"},{"jsonrpc":"2.0","id":3,"result":1',
  '1]',
  '1,2',
  '}',
  'forged',
  '"\n"',
  '[1',
  '"open',
]

export interface ScriptAttack {
  readonly name: string
  readonly tracer: string
  /** Time limit of `debug_trace…`. */
  readonly timeout?: string
}

export const writingAttacks: readonly ScriptAttack[] = [
  ...replaced.map((setup) => ({ name: setup, tracer: tracer(asking, setup, looking) })),
  { name: 'all of it', tracer: tracer(asking, replaced.join('; '), looking) },
]

export const forgingAttacks: readonly ScriptAttack[] = [
  ...forgedResults.map((said) => ({
    name: `a result that says ${said}`,
    tracer: tracer('return 1', `JSON.stringify = function () { return ${JSON.stringify(said)} }`),
  })),
  ...['7', '{}', 'null', 'Symbol()', '["[1]"]', 'new String("1")'].map((said) => ({
    name: `a result that is ${said}`,
    tracer: tracer('return 1', `JSON.stringify = function () { return ${said} }`),
  })),
  {
    name: 'a result that is too deep',
    tracer: tracer('return 1', 'JSON.stringify = function () { return "[".repeat(1e5) + "]".repeat(1e5) }'),
  },
]

export const takingAttacks: readonly ScriptAttack[] = [
  { name: 'typed arrays', tracer: tracer('var a = []; for (;;) a.push(new Uint8Array(1e6))') },
  { name: 'objects', tracer: tracer('var a = []; for (;;) a.push({ a: a.length })') },
  { name: 'a long text', tracer: tracer('var a = "x"; for (;;) a += a') },
  { name: 'a long number', tracer: tracer('var a = 3n; for (;;) a = a * a') },
  {
    name: 'many values',
    tracer: tracer('return 1', 'JSON.stringify = function () { return "[" + "{},".repeat(5e6) + "1]" }'),
  },
  {
    name: 'a long result',
    tracer: tracer('return 1', 'JSON.stringify = function () { return JSON.parse("1") + "0".repeat(4e7) }'),
  },
  {
    name: 'padding of memory',
    tracer: tracer(
      'return 1',
      'globalThis.Number = function (at) { return at }',
      ', step: function (log) { log.memory.slice({ valueOf: function () { return 0 } }, 3e8) }',
    ),
  },
  {
    name: 'memory at each step',
    tracer: tracer(
      'return 1',
      '',
      ', n: 0, step: function (log) { if (this.n++ < 3) log.memory.slice(0, 1e6) }',
    ),
  },
]

/** Code without a check whether it should stop. */
export const endlessAttacks: readonly ScriptAttack[] = [
  {
    name: 'a search without end, which looks at nothing else',
    tracer: tracer('return Array.prototype.indexOf.call({ length: 9e15 }, 1)'),
    timeout: '300ms',
  },
  { name: 'a loop', tracer: tracer('for (;;);'), timeout: '300ms' },
  {
    name: 'a loop that catches all',
    tracer: tracer('(function f() { try { for (;;); } catch (_) { return f() } finally { for (;;); } })()'),
    timeout: '300ms',
  },
  {
    name: 'a regular expression',
    tracer: tracer('return /^(a+)+$/.test("a".repeat(60) + "b")'),
    timeout: '300ms',
  },
  {
    name: 'long numbers',
    tracer: tracer('var a = 7n ** 100000n; for (;;) (a * a) % (a - 1n)'),
    timeout: '300ms',
  },
]
