/**
 * go-ethereum's API for tracers in JavaScript (docs of eth/tracers, "Custom EVM tracer"). Its objects are made in the
 * sandbox, on top of one host function for each kind of question. Texts are hex without prefix.
 */
import { opcodeNames } from '../engine/opcodeNames.js'

/**
 * A program whose value is a function of the host's functions. It returns a function of a tracer and its configuration,
 * which returns `{hasStep, hasFrames, step, fault, enter, exit, result}`. Word-sized numbers are objects with the
 * methods of the library big-integer that tracers use. A tracer may replace every function here: the host trusts none
 * of their results.
 */
export const prelude = `(function (peek, memory, ask) {
'use strict'
var names = ${JSON.stringify(opcodeNames)}
function Big(value) { this.big = value }
function big(value) { return new Big(value) }
function bigOf(other) { return other instanceof Big ? other.big : BigInt(other) }
var operations = {
  add: function (a, b) { return a + b }, subtract: function (a, b) { return a - b },
  multiply: function (a, b) { return a * b }, divide: function (a, b) { return a / b },
  mod: function (a, b) { return a % b }, pow: function (a, b) { return a ** b },
  and: function (a, b) { return a & b }, or: function (a, b) { return a | b }, xor: function (a, b) { return a ^ b },
  shiftLeft: function (a, b) { return a << b }, shiftRight: function (a, b) { return a >> b },
}
var aliases = { plus: 'add', minus: 'subtract', times: 'multiply', over: 'divide', remainder: 'mod' }
for (var alias in aliases) operations[alias] = operations[aliases[alias]]
Object.keys(operations).forEach(function (name) {
  Big.prototype[name] = function (other) { return big(operations[name](this.big, bigOf(other))) }
})
var comparisons = {
  equals: function (a, b) { return a === b }, notEquals: function (a, b) { return a !== b },
  greater: function (a, b) { return a > b }, lesser: function (a, b) { return a < b },
  greaterOrEquals: function (a, b) { return a >= b }, lesserOrEquals: function (a, b) { return a <= b },
  compare: function (a, b) { return a < b ? -1 : a > b ? 1 : 0 },
}
var shorter = { eq: 'equals', neq: 'notEquals', gt: 'greater', lt: 'lesser', geq: 'greaterOrEquals', leq: 'lesserOrEquals', compareTo: 'compare' }
for (var short in shorter) comparisons[short] = comparisons[shorter[short]]
Object.keys(comparisons).forEach(function (name) {
  Big.prototype[name] = function (other) { return comparisons[name](this.big, bigOf(other)) }
})
Big.prototype.isZero = function () { return this.big === 0n }
Big.prototype.isNegative = function () { return this.big < 0n }
Big.prototype.negate = function () { return big(-this.big) }
Big.prototype.toString = function (radix) { return this.big.toString(radix === undefined ? 10 : Number(radix)) }
Big.prototype.valueOf = Big.prototype.toJSNumber = function () { return Number(this.big) }
Big.prototype.toJSON = function () { return this.big.toString() }
function word(digits) { return big(BigInt('0x' + (digits === '' ? '0' : digits))) }
function bytes(digits) {
  var list = new Uint8Array(digits.length / 2)
  for (var at = 0; at < list.length; at++) list[at] = parseInt(digits.substr(at * 2, 2), 16)
  return list
}
function digitsOf(value, takesText) {
  if (takesText && typeof value === 'string') {
    var text = value.replace(/^0[xX]/, '')
    return text.length % 2 === 1 ? '0' + text : text
  }
  if (!(value instanceof Uint8Array) && !Array.isArray(value)) throw new Error('invalid buffer type')
  var digits = ''
  for (var at = 0; at < value.length; at++) digits += (value[at] & 255).toString(16).padStart(2, '0')
  return digits
}
function sized(digits, count) { return digits.length > count ? digits.slice(-count) : digits.padStart(count, '0') }
var addressOf = function (value, takesText) { return sized(digitsOf(value, takesText), 40) }
globalThis.bigInt = function (value, radix) { return radix === 16 ? word(value) : big(bigOf(value === undefined ? 0 : value)) }
globalThis.bigInt.zero = big(0n)
globalThis.bigInt.one = big(1n)
globalThis.bigInt.minusOne = big(-1n)
globalThis.toHex = function (value) { return '0x' + digitsOf(value, false) }
globalThis.toWord = function (value) { return bytes(sized(digitsOf(value, true), 64)) }
globalThis.toAddress = function (value) { return bytes(addressOf(value, true)) }
globalThis.toContract = function (from, nonce) { return bytes(ask('contract', addressOf(from, true), String(nonce))) }
globalThis.toContract2 = function (from, salt, code) {
  return bytes(ask('contract2', addressOf(from, true), sized(digitsOf(salt, true), 64) + digitsOf(code, true)))
}
globalThis.isPrecompiled = function (address) { return ask('precompile', addressOf(address, true), '') === '1' }
globalThis.slice = function (value, start, end) {
  var digits = digitsOf(value, false)
  if (start < 0 || start > end || end * 2 > digits.length) {
    throw new Error('Tracer accessed out of bound memory: available ' + digits.length / 2 + ', offset ' + start + ', size ' + (end - start))
  }
  return bytes(digits.slice(start * 2, end * 2))
}
var s = [0, 0, 0, 0, 0, 0, 0, 0]
var error
var contract = { caller: '', address: '', value: '0', input: '' }
var log = {
  op: {
    toNumber: function () { return s[0] },
    toString: function () { return names[s[0]] },
    isPush: function () { return s[0] >= 0x5f && s[0] <= 0x7f },
  },
  getPC: function () { return s[1] }, getGas: function () { return s[2] }, getCost: function () { return s[3] },
  getDepth: function () { return s[4] }, getRefund: function () { return s[5] }, getError: function () { return error },
  stack: {
    length: function () { return s[6] },
    peek: function (index) {
      if (index < 0 || index >= s[6]) throw new Error('tracer accessed out of bound stack: size ' + s[6] + ', index ' + index)
      return word(peek(Number(index)))
    },
  },
  memory: {
    length: function () { return s[7] },
    slice: function (start, end) {
      start = Number(start)
      end = Number(end)
      if (end === start) return new Uint8Array(0)
      if (end < start || start < 0) throw new Error('tracer accessed out of bound memory: offset ' + start + ', end ' + end)
      if (end - s[7] > 1048576) throw new Error('tracer reached limit for padding memory slice: end ' + end + ', memorySize ' + s[7])
      return bytes(memory(start, end))
    },
    getUint: function (at) {
      at = Number(at)
      if (at < 0 || at + 32 > s[7]) throw new Error('tracer accessed out of bound memory: available ' + s[7] + ', offset ' + at + ', size 32')
      return word(memory(at, at + 32))
    },
  },
  contract: {
    getCaller: function () { return bytes(contract.caller) },
    getAddress: function () { return bytes(contract.address) },
    getValue: function () { return word(contract.value) },
    getInput: function () { return bytes(contract.input) },
  },
}
var db = {
  getBalance: function (address) { return word(ask('balance', addressOf(address, false), '')) },
  getNonce: function (address) { return Number('0x' + ask('nonce', addressOf(address, false), '')) },
  getCode: function (address) { return bytes(ask('code', addressOf(address, false), '')) },
  getState: function (address, key) { return bytes(ask('slot', addressOf(address, false), sized(digitsOf(key, false), 64))) },
  exists: function (address) { return ask('exists', addressOf(address, false), '') === '1' },
}
function frameOf(f) {
  return {
    getType: function () { return f.type }, getFrom: function () { return bytes(f.from) },
    getTo: function () { return bytes(f.to) }, getInput: function () { return bytes(f.input) },
    getGas: function () { return f.gas },
    getValue: function () { return f.value === undefined ? undefined : word(f.value) },
  }
}
function resultOf(r) {
  return {
    getGasUsed: function () { return r.gasUsed }, getOutput: function () { return bytes(r.output) },
    getError: function () { return r.error },
  }
}
return function (tracer, config) {
function has(name) { return typeof tracer[name] === 'function' }
;['result', 'fault'].forEach(function (name) {
  if (tracer === null || typeof tracer !== 'object' || !has(name)) {
    throw new Error('trace object must expose a function ' + name + '()')
  }
})
if (has('enter') !== has('exit')) throw new Error('trace object must expose either both or none of enter() and exit()')
if (has('setup')) tracer.setup(config)
function take(text) {
  var answer = JSON.parse(text)
  s = answer.s
  error = answer.error
  contract = answer.contract || contract
}
return {
  hasStep: has('step'), hasFrames: has('enter'),
  step: function (text) { take(text); tracer.step(log, db) },
  fault: function (text) { take(text); tracer.fault(log, db) },
  enter: function (text) { tracer.enter(frameOf(JSON.parse(text))) },
  exit: function (text) { tracer.exit(resultOf(JSON.parse(text))) },
  result: function (text) {
    var ctx = JSON.parse(text)
    ;['from', 'to', 'input', 'output', 'coinbase', 'blockHash', 'txHash'].forEach(function (name) {
      if (ctx[name] !== undefined) ctx[name] = bytes(ctx[name])
    })
    ctx.value = word(ctx.value)
    ctx.gasPrice = word(ctx.gasPrice)
    var answer = JSON.stringify(tracer.result(ctx, db))
    return answer === undefined ? 'null' : answer
  },
}
}
})`
