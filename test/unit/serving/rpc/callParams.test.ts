/** Values that the edge refuses to decode without reading them. */
import t from 'tap'
import { FaultError, messageRefused } from '../../../../src/primitives/faults.js'
import type { Param } from '../../../../src/serving/rpc/method.js'
import { callObject, stateOverrides } from '../../../../src/serving/rpc/params/callParams.js'

const hex = (value: number, bytes: number): string => `0x${value.toString(16).padStart(2 * bytes, '0')}`
const word = (value: number): string => hex(value, 32)

/** An object whose members count how often they are read. */
function counting(count: number, key: (at: number) => string, value: () => unknown) {
  let reads = 0
  const object: Record<string, unknown> = {}
  for (let at = 0; at < count; at++) {
    const get = (): unknown => {
      reads++
      return value()
    }
    Object.defineProperty(object, key(at), { enumerable: true, get })
  }
  return { object, reads: () => reads }
}

function refusalOf(param: Param<unknown>, value: unknown): string {
  try {
    param.decode(value, 2)
  } catch (error) {
    if (error instanceof FaultError && error.fault.kind === 'InvalidArgument') return error.fault.why
    throw error
  }
  return 'none'
}

t.test('overrides are counted before any is looked at', async (t) => {
  const many = counting(
    501,
    (at) => hex(at, 20),
    () => ({ balance: '0x1' }),
  )
  t.equal(refusalOf(stateOverrides, many.object), 'want at most 500 accounts, got 501')
  t.equal(many.reads(), 0)
  const most = counting(
    500,
    (at) => hex(at, 20),
    () => ({ balance: '0x1' }),
  )
  t.equal(refusalOf(stateOverrides, most.object), 'none')
  t.equal(most.reads(), 500)
})

t.test('slots are counted over all accounts', async (t) => {
  const half = counting(501, word, () => word(1))
  const rest = counting(500, word, () => word(1))
  const overrides = { [hex(1, 20)]: { stateDiff: half.object }, [hex(2, 20)]: { state: rest.object } }
  t.equal(refusalOf(stateOverrides, overrides), 'state: want at most 1000 slots in all overrides')
  t.equal(rest.reads(), 0)
  const fits = counting(499, word, () => word(1))
  t.equal(
    refusalOf(stateOverrides, {
      [hex(1, 20)]: { stateDiff: half.object },
      [hex(2, 20)]: { state: fits.object },
    }),
    'none',
  )
})

t.test('code is measured over all accounts', async (t) => {
  const code = (bytes: number) => ({ code: `0x${'60'.repeat(bytes)}` })
  const two = (bytes: number) => ({ [hex(1, 20)]: code(600_000), [hex(2, 20)]: code(bytes) })
  t.equal(
    refusalOf(stateOverrides, two(500_000)),
    'code: want at most 1048576 bytes of code in all overrides',
  )
  t.equal(refusalOf(stateOverrides, two(400_000)), 'none')
})

t.test('lists of a call object are bounded', async (t) => {
  const entry = (keys: number) => ({
    address: hex(1, 20),
    storageKeys: Array.from({ length: keys }, (_, at) => word(at)),
  })
  const list = (...accessList: object[]) => refusalOf(callObject, { accessList })
  t.equal(list(entry(4_999), entry(5_000)), 'accessList: want at most 10000 addresses and keys, got 10001')
  t.equal(list(entry(4_999), entry(4_999)), 'none')
  t.equal(
    list(...new Array<object>(10_001).fill(entry(0))),
    'accessList: want at most 10000 addresses and keys, got 10001',
  )
  const hashes = (count: number) =>
    refusalOf(callObject, { blobVersionedHashes: new Array(count).fill(word(1)) })
  t.equal(hashes(1_001), 'blobVersionedHashes: want at most 1000 items, got 1001')
  t.equal(hashes(1_000), 'none')
  const signed = { chainId: '0x1', address: hex(1, 20), nonce: '0x0', yParity: '0x0', r: '0x1', s: '0x1' }
  const authorizations = (count: number) =>
    refusalOf(callObject, { authorizationList: new Array(count).fill(signed) })
  t.equal(authorizations(1_001), 'authorizationList: want at most 1000 items, got 1001')
  t.equal(authorizations(1_000), 'none')
})

t.test('data is converted and checked in one pass', async (t) => {
  const data = `0x${'Fe00'.repeat(2 ** 18)}`
  const { exec, test } = RegExp.prototype
  let passes = 0
  const counted = <F extends (this: RegExp, text: string) => unknown>(original: F) =>
    function (this: RegExp, text: string) {
      if (text.length >= 2 ** 20) passes++
      return original.call(this, text)
    }
  t.teardown(() => Object.assign(RegExp.prototype, { exec, test }))
  Object.assign(RegExp.prototype, { exec: counted(exec), test: counted(test) })
  const { message } = callObject.decode({ data }, 0)
  t.equal(passes, 0)
  t.equal(message.data.length, 2 ** 19)
  t.same([...message.data.subarray(-2)], [0xfe, 0])
})

t.test('data that is no hex is refused, wherever the fault is', async (t) => {
  const refusals: [string, string][] = [
    ['fe', 'data: hex string without 0x prefix'],
    ['0', 'data: hex string without 0x prefix'],
    ['0x1', 'data: hex string of odd length'],
    ['0xg0', 'data: invalid hex string'],
    [`0x${'0'.repeat(1_000)}0g`, 'data: invalid hex string'],
    // The last eight bits of these characters are those of digits.
    ['0x\u0130\u0131', 'data: invalid hex string'],
    ['0x\uff10\uff11', 'data: invalid hex string'],
    ['0x0é', 'data: invalid hex string'],
    ['0x0x00', 'data: invalid hex string'],
    ['0x00 0', 'data: invalid hex string'],
  ]
  for (const [data, why] of refusals) t.equal(refusalOf(callObject, { data }), why, data.slice(0, 20))
  t.equal(refusalOf(callObject, { data: '0X00' }), 'none')
})

t.test('what no transaction can have is refused', async (t) => {
  const signed = { chainId: '0x1', address: hex(1, 20), nonce: '0x0', r: '0x1', s: '0x1' }
  const withParity = (members: object) => ({ to: hex(1, 20), authorizationList: [{ ...signed, ...members }] })
  const wanted = 'authorizationList: yParity: want 0 or 1, got'
  for (const [given, got] of [
    ['0x2', '2'],
    ['0x1b', '27'],
    ['0xffffffffffffffff', '18446744073709551615'],
  ] as const) {
    t.equal(refusalOf(callObject, withParity({ yParity: given })), `${wanted} ${got}`)
    t.equal(refusalOf(callObject, withParity({ v: given })), `${wanted} ${got}`)
  }
  t.equal(refusalOf(callObject, withParity({ yParity: '0x1' })), 'none')
  t.throws(
    () => callObject.decode({ to: hex(1, 20), maxFeePerBlobGas: '0x1' }, 0),
    messageRefused('maxFeePerBlobGas specified without blobVersionedHashes'),
  )
  t.equal(refusalOf(callObject, { to: hex(1, 20), maxFeePerBlobGas: '0x0' }), 'none')
  for (const name of ['blobs', 'commitments', 'proofs']) {
    const why = `"${name}" is not supported here: give "blobVersionedHashes", and send a signed transaction with its blobs`
    t.throws(() => callObject.decode({ to: hex(1, 20), [name]: ['0x'] }, 0), messageRefused(why))
  }
  t.equal(
    refusalOf(callObject, { to: hex(1, 20), maxFeePerBlobGas: '0x1', blobVersionedHashes: [word(1)] }),
    'none',
  )
})
