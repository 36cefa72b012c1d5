import t from 'tap'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { faultToWireError } from '../../../../src/serving/rpc/answers/wireErrors.js'
import { decodeParams, defineMethod, type Param } from '../../../../src/serving/rpc/method.js'
import {
  address,
  blockId,
  boolean,
  hash32,
  optional,
  position,
  quantity,
  storageKey,
  storageKeys,
} from '../../../../src/serving/rpc/params/params.js'

/** Code and message of a decoder's exception. */
function messageOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (!(error instanceof FaultError)) throw error
    const { code, message } = faultToWireError(error.fault)
    return `${code} ${message}`
  }
  throw new Error('nothing was thrown')
}

const refusal = (param: Param<unknown>, value: unknown) => messageOf(() => param.decode(value, 1))
const hash = `0x${'ab'.repeat(32)}`

t.test('an address is 20 bytes in hex of either case', async (t) => {
  const mixed = `0x${'aB'.repeat(20)}`
  t.equal(bytesToHex(address.decode(mixed, 0)), mixed.toLowerCase())
  t.equal(refusal(address, 5), '-32602 invalid argument 1: want a hex string for address, got number')
  t.equal(refusal(address, ''), '-32602 invalid argument 1: empty hex string')
  t.equal(refusal(address, 'ab'.repeat(20)), '-32602 invalid argument 1: hex string without 0x prefix')
  t.equal(refusal(address, '0xabc'), '-32602 invalid argument 1: hex string of odd length')
  t.equal(
    refusal(address, '0xabcd'),
    '-32602 invalid argument 1: hex string has length 4, want 40 for address',
  )
  t.equal(refusal(address, `0x${'zz'.repeat(20)}`), '-32602 invalid argument 1: invalid hex string')
})

t.test('a character beyond Latin-1 is no hex digit, whatever its low byte', async (t) => {
  t.equal(refusal(address, `0x${'a'.repeat(39)}\u0161`), '-32602 invalid argument 1: invalid hex string')
})

t.test('a hash is 32 bytes in hex', async (t) => {
  t.equal(bytesToHex(hash32.decode(hash, 0)), hash)
  t.equal(refusal(hash32, '0xab'), '-32602 invalid argument 1: hex string has length 2, want 64 for hash')
})

t.test('a boolean is only true or false', async (t) => {
  t.equal(boolean.decode(true, 0), true)
  t.equal(boolean.decode(false, 0), false)
  t.equal(refusal(boolean, 'true'), '-32602 invalid argument 1: want a boolean, got string')
  t.equal(refusal(boolean, []), '-32602 invalid argument 1: want a boolean, got array')
})

t.test('a quantity is hex without leading zeros and within its width', async (t) => {
  const wide = quantity()
  t.equal(wide.decode('0x0', 0), 0n)
  t.equal(wide.decode(`0x${'f'.repeat(16)}`, 0), 2n ** 64n - 1n)
  t.equal(quantity({ bits: 256 }).decode(`0x${'f'.repeat(64)}`, 0), 2n ** 256n - 1n)
  t.equal(refusal(wide, 7), '-32602 invalid argument 1: want a hex quantity, got number')
  t.equal(refusal(wide, '7'), '-32602 invalid argument 1: hex string without 0x prefix')
  t.equal(refusal(wide, '0x'), '-32602 invalid argument 1: hex string "0x"')
  t.equal(refusal(wide, '0x07'), '-32602 invalid argument 1: hex number with leading zero digits')
  t.equal(refusal(wide, '0x7g'), '-32602 invalid argument 1: invalid hex string')
  t.equal(refusal(wide, `0x1${'0'.repeat(16)}`), '-32602 invalid argument 1: hex number > 64 bits')
})

t.test('a position beyond 2^53 - 1 arrives as that', async (t) => {
  t.equal(position.decode('0x10', 0), 16)
  t.equal(position.decode('0xffffffffffffffff', 0), Number.MAX_SAFE_INTEGER)
})

t.test('a storage key has up to 32 bytes, with or without prefix, of even or odd length', async (t) => {
  const slot = (text: string) => bytesToHex(storageKey.decode(text, 0))
  const padded = (digits: string) => `0x${digits.padStart(64, '0')}`
  t.equal(slot('0x0'), padded('0'))
  t.equal(slot('0xABC'), padded('abc'))
  t.equal(slot('0XABC'), padded('abc'))
  t.equal(slot('abc'), padded('abc'))
  t.equal(slot(''), padded(''))
  t.equal(slot('0x'), padded(''))
  t.equal(slot(hash), hash)
  t.equal(slot(`0x${'1'.repeat(63)}`), padded('1'.repeat(63)))
  const long = `0x${'0'.repeat(65)}`
  t.equal(
    refusal(storageKey, long),
    `-32602 storage key too long (want at most 32 bytes): ${JSON.stringify(long)}`,
  )
  t.equal(refusal(storageKey, '0xasdf'), '-32602 invalid hex in storage key: "0xasdf"')
  t.equal(refusal(storageKey, 5), '-32602 invalid argument 1: want a storage key, got number')
})

t.test('the quotation of a storage key is cut', async (t) => {
  t.ok(refusal(storageKey, '0'.repeat(1_000_000)).length < 400)
})

t.test('storage keys are counted before they are read', async (t) => {
  const keys = storageKeys(2)
  t.same(
    keys.decode(['0x0', hash], 0).map((key) => key.writtenBytes),
    [1, 32],
  )
  t.equal(refusal(keys, ['x', 'x', 'x']), '-32602 too many storage keys requested (max 2, got 3)')
  t.equal(refusal(keys, 'x'), '-32602 invalid argument 1: want an array, got string')
  t.equal(refusal(keys, ['0x0', 'x']), '-32602 invalid hex in storage key: "x"')
})

t.test('a block id is a hex number, a tag or an object', async (t) => {
  const block = blockId()
  for (const tag of ['latest', 'earliest', 'pending', 'safe', 'finalized']) {
    t.same(block.decode(tag, 0), { kind: 'tag', tag })
    t.same(block.decode({ blockNumber: tag }, 0), { kind: 'tag', tag })
  }
  t.same(block.decode('0x10', 0), { kind: 'number', number: 16 })
  t.same(block.decode({ blockNumber: '0x10', blockHash: null }, 0), { kind: 'number', number: 16 })
  t.match(block.decode({ blockHash: hash }, 0), { kind: 'hash', requireCanonical: false })
  t.match(block.decode({ blockHash: hash, requireCanonical: true }, 0), {
    kind: 'hash',
    requireCanonical: true,
  })
  t.equal(
    refusal(block, { blockHash: hash, blockNumber: '0x1' }),
    '-32602 cannot specify both BlockHash and BlockNumber, choose one or the other',
  )
  t.equal(refusal(block, {}), '-32602 invalid argument 1: neither blockNumber nor blockHash specified')
  t.equal(
    refusal(block, { blockHash: hash, requireCanonical: 'yes' }),
    '-32602 invalid argument 1: requireCanonical: want a boolean, got string',
  )
  t.equal(refusal(block, 'Latest'), '-32602 invalid argument 1: hex string without 0x prefix')
  t.equal(refusal(block, 7), '-32602 invalid argument 1: want a block number or tag, got number')
  t.equal(refusal(block, [hash]), '-32602 invalid argument 1: want a block number or tag, got array')
  t.equal(refusal(block, '0x01'), '-32602 invalid argument 1: hex number with leading zero digits')
})

t.test('a block number beyond any chain is read, one beyond int64 refused', async (t) => {
  const block = blockId()
  t.same(block.decode('0x1fffffffffffff', 0), { kind: 'number', number: 2 ** 53 - 1 })
  t.same(block.decode('0x7fffffffffffffff', 0), { kind: 'number', number: 2 ** 53 - 1 })
  t.equal(refusal(block, '0x8000000000000000'), '-32602 invalid argument 1: block number larger than int64')
  t.equal(refusal(block, '0x10000000000000000'), '-32602 invalid argument 1: hex number > 64 bits')
})

t.test('a bare hash and decimal digits are blocks only where they may be', async (t) => {
  t.equal(refusal(blockId(), hash), '-32602 invalid argument 1: hex number > 64 bits')
  t.match(blockId({ acceptsHash: true }).decode(hash, 0), { kind: 'hash', requireCanonical: false })
  const decimal = blockId({ acceptsDecimal: true })
  t.same(decimal.decode(12, 0), { kind: 'number', number: 12 })
  t.same(decimal.decode('12', 0), { kind: 'number', number: 12 })
  t.same(decimal.decode('0xc', 0), { kind: 'number', number: 12 })
  t.same(decimal.decode('9223372036854775807', 0), { kind: 'number', number: 2 ** 53 - 1 })
  t.equal(
    refusal(decimal, '9223372036854775808'),
    '-32602 invalid argument 1: block number larger than int64',
  )
  t.equal(refusal(decimal, '9'.repeat(1000)), '-32602 invalid argument 1: block number larger than int64')
  t.equal(refusal(decimal, '012'), '-32602 invalid argument 1: hex string without 0x prefix')
  t.equal(refusal(decimal, 1.5), '-32602 invalid argument 1: a block number is a non-negative integer')
  t.equal(refusal(decimal, -1), '-32602 invalid argument 1: a block number is a non-negative integer')
})

t.test('arguments are taken in go-ethereum’s order of complaints', async (t) => {
  const method = defineMethod({
    name: 'test_method',
    params: [address, boolean, blockId({ default: 'latest' }), optional(position, undefined)],
    cost: 'inline',
    price: 1,
    memo: 'never',
    run: (_network, [account, flag, block, index]) =>
      JSON.stringify([account.length, flag, block.kind, index ?? 'none']),
  })
  const account = `0x${'11'.repeat(20)}`
  const decode = (raw: unknown) => decodeParams(method, raw)
  t.same(decode([account, true]).slice(1), [true, { kind: 'tag', tag: 'latest' }, undefined])
  t.same(decode([account, true, null, '0x2']).slice(1), [true, { kind: 'tag', tag: 'latest' }, 2])
  const refused = (raw: unknown) => messageOf(() => decode(raw))
  t.equal(refused(undefined), '-32602 missing value for required argument 0')
  t.equal(refused(null), '-32602 missing value for required argument 0')
  t.equal(refused([]), '-32602 missing value for required argument 0')
  t.equal(refused([account]), '-32602 missing value for required argument 1')
  t.equal(refused([account, null]), '-32602 missing value for required argument 1')
  t.equal(refused([null, 5]), '-32602 missing value for required argument 0')
  t.equal(refused([account, true, null, null, 1]), '-32602 too many arguments, want at most 4')
  t.equal(refused([5, 5, 5, 5, 5]), '-32602 invalid argument 0: want a hex string for address, got number')
  t.equal(refused({}), '-32602 non-array args: params must be an array')
  t.equal(refused('0x'), '-32602 non-array args: params must be an array')
})

t.test('a method with names takes its parameters by name or by position', async (t) => {
  const method = defineMethod({
    name: 'test_named',
    params: [boolean.as('flag'), optional(position, 7).as('index')],
    byName: true,
    cost: 'inline',
    price: 1,
    memo: 'never',
    run: () => 'true',
  })
  t.same(decodeParams(method, { flag: true }), [true, 7])
  t.same(decodeParams(method, { index: '0x1', flag: true }), [true, 1])
  t.same(decodeParams(method, [false]), [false, 7])
  t.equal(
    messageOf(() => decodeParams(method, { index: '0x1' })),
    '-32602 missing value for required argument 0',
  )
  t.equal(
    messageOf(() => decodeParams(method, { flag: true, other: 1 })),
    '-32602 unknown argument "other"',
  )
  t.equal(
    messageOf(() => decodeParams(method, { ['__proto__']: 1 })),
    '-32602 unknown argument "__proto__"',
  )
})
