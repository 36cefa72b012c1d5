import fc from 'fast-check'
import t from 'tap'
import {
  asciiToFelt,
  decimalToFelt,
  fieldPrime,
  hexToFelt,
  toFelt,
} from '../../../../src/serving/rollup/felt.js'
import {
  FieldError,
  invokeLimitsDefault,
  parseInvokeTransaction,
  VersionError,
} from '../../../../src/serving/rollup/invokeTransaction.js'
import { propertyRuns } from '../../../library/property.js'
import {
  feltArbitrary,
  hashVectors,
  makeTransaction,
  specTransaction,
} from '../../../rollup/invokeTransactions.js'

const parse = (value: unknown) => parseInvokeTransaction(value, invokeLimitsDefault)

t.test('the specification’s shape becomes the official one', async (t) => {
  const [first, second] = specTransaction.signature as string[]
  t.strictSame(parse(specTransaction), {
    ...specTransaction,
    signature: [toFelt(BigInt(first ?? '')), toFelt(BigInt(second ?? ''))],
    resource_bounds: {
      l1_gas: { max_amount: '0x28ed6103d0000', max_price_per_unit: '0x1' },
      l2_gas: { max_amount: '0x5f5e100', max_price_per_unit: '0x1' },
    },
  })
})

t.test('what is canonical already stays as it is', async (t) => {
  for (const { tx } of hashVectors) t.strictSame(parse(tx), tx)
})

t.test('felts are read as integers below P', async (t) => {
  fc.assert(
    fc.property(feltArbitrary, fc.nat(3), fc.boolean(), (value, zeros, isUpper) => {
      const digits = value.toString(16).padStart(Math.min(64, value.toString(16).length + zeros), '0')
      t.equal(hexToFelt(`0x${isUpper ? digits.toUpperCase() : digits}`), toFelt(value))
      t.equal(decimalToFelt(value.toString()), toFelt(value))
    }),
    propertyRuns(200),
  )
  for (const text of [
    `0x${fieldPrime.toString(16)}`,
    `0x${'f'.repeat(64)}`,
    `0x${'0'.repeat(65)}`,
    '0x',
    '0X1',
    '1',
    '',
    '0xg',
    ' 0x1',
    '0x1\n',
  ]) {
    t.equal(hexToFelt(text), undefined, JSON.stringify(text))
  }
  for (const text of [fieldPrime.toString(), '9'.repeat(77), '-1', '1.0', '1e3', '01', '', ' 1', '0x1']) {
    t.equal(decimalToFelt(text), undefined, JSON.stringify(text))
  }
  t.equal(asciiToFelt('SN_MAIN'), '0x534e5f4d41494e')
  for (const text of ['', 'é', 'x'.repeat(32)]) t.throws(() => asciiToFelt(text), RangeError)
  t.throws(() => toFelt(fieldPrime), RangeError)
  t.throws(() => toFelt(-1n), RangeError)
})

const felt = 'a felt in hex (0x and 1 to 64 digits, less than 2^251 + 17·2^192 + 1)'
const plain = makeTransaction(1, 1)
const bounds = plain.resource_bounds
const without = (field: string) =>
  Object.fromEntries(Object.entries(plain).filter(([name]) => name !== field))

t.test('each fault names its field', async (t) => {
  const cases: readonly (readonly [value: unknown, message: string])[] = [
    [null, 'want an invoke transaction object, got null'],
    [[], 'want an invoke transaction object, got array'],
    [{ ...plain, entry_point: '0x1' }, 'entry_point: unknown field'],
    [{ ...plain, type: 'DEPLOY' }, 'type: want the word INVOKE, got "DEPLOY"'],
    [{ ...plain, type: 1 }, 'type: want a string, got number'],
    [without('type'), 'type: missing, want a string'],
    [without('version'), `version: missing, want ${felt}`],
    [without('sender_address'), `sender_address: missing, want ${felt}`],
    [{ ...plain, sender_address: 7 }, `sender_address: want ${felt}, got number`],
    [
      { ...plain, sender_address: `0x${fieldPrime.toString(16)}` },
      `sender_address: want ${felt}, got "0x${fieldPrime.toString(16)}"`,
    ],
    [without('calldata'), 'calldata: missing, want an array'],
    [{ ...plain, calldata: '0x1' }, 'calldata: want an array, got "0x1"'],
    [{ ...plain, calldata: ['0x1', '2'] }, `calldata[1]: want ${felt}, got "2"`],
    [{ ...plain, calldata: ['0x1', null] }, `calldata[1]: want ${felt}, got null`],
    [{ ...plain, calldata: new Array(5_001).fill('0x1') }, 'calldata: want at most 5000 items, got 5001'],
    [{ ...plain, signature: new Array(4_001).fill('1') }, 'signature: want at most 4000 items, got 4001'],
    [
      { ...plain, signature: ['-1'] },
      `signature[0]: want ${felt} or as a decimal integer in a string, got "-1"`,
    ],
    [
      { ...plain, signature: [1] },
      `signature[0]: want ${felt} or as a decimal integer in a string, got number`,
    ],
    [without('nonce'), `nonce: missing, want ${felt}`],
    [without('resource_bounds'), 'resource_bounds: missing, want an object'],
    [
      { ...plain, resource_bounds: { l1_gas: bounds.l1_gas } },
      'resource_bounds.l2_gas: missing, want an object with max_amount and max_price_per_unit, or a hex string',
    ],
    [{ ...plain, resource_bounds: { ...bounds, l3_gas: '0x1' } }, 'resource_bounds.l3_gas: unknown field'],
    [
      { ...plain, resource_bounds: { ...bounds, l2_gas: '0x10000000000000000' } },
      'resource_bounds.l2_gas: want a hex integer of at most 64 bits, got "0x10000000000000000"',
    ],
    [
      { ...plain, resource_bounds: { ...bounds, l1_data_gas: null } },
      'resource_bounds.l1_data_gas: want an object with max_amount and max_price_per_unit, or a hex string, got null',
    ],
    [
      {
        ...plain,
        resource_bounds: {
          ...bounds,
          l1_gas: { max_amount: '0x1', max_price_per_unit: `0x1${'0'.repeat(32)}` },
        },
      },
      `resource_bounds.l1_gas.max_price_per_unit: want a hex integer of at most 128 bits, got "0x1${'0'.repeat(32)}"`,
    ],
    [
      { ...plain, resource_bounds: { ...bounds, l1_gas: { max_amount: '0x1', price: '0x1' } } },
      'resource_bounds.l1_gas.price: unknown field',
    ],
    [
      { ...plain, tip: '0x10000000000000000' },
      'tip: want a hex integer of at most 64 bits, got "0x10000000000000000"',
    ],
    [{ ...plain, paymaster_data: [{}] }, `paymaster_data[0]: want ${felt}, got object`],
    [{ ...plain, account_deployment_data: {} }, 'account_deployment_data: want an array, got object'],
    [
      { ...plain, nonce_data_availability_mode: 'L3' },
      'nonce_data_availability_mode: want L1 or L2, got "L3"',
    ],
    [{ ...plain, fee_data_availability_mode: 0 }, 'fee_data_availability_mode: want a string, got number'],
    [{ ...plain, proof: 'AA==' }, 'proof_facts: missing, although there is a proof'],
    [{ ...plain, proof_facts: [] }, 'proof: missing, although there are proof_facts'],
    [{ ...plain, proof_facts: [], proof: 'A' }, 'proof: want base64 text, got "A"'],
    [{ ...plain, proof_facts: [], proof: 'A===' }, 'proof: want base64 text, got "A==="'],
    [{ ...plain, proof_facts: [], proof: 'AA=A' }, 'proof: want base64 text, got "AA=A"'],
    [{ ...plain, proof_facts: ['x'], proof: '' }, `proof_facts[0]: want ${felt}, got "x"`],
  ]
  for (const [value, message] of cases) {
    t.throws(() => parse(value), new FieldError(message), message)
  }
})

t.test('limits hold to the item, and others may be set', async (t) => {
  const full = { ...plain, calldata: new Array(5_000).fill('0x1'), signature: new Array(4_000).fill('1') }
  t.equal(parse(full).calldata.length, 5_000)
  t.throws(() => parseInvokeTransaction(plain, { calldataMax: 2, signatureMax: 2 }), /at most 2 items, got 3/)
  t.throws(() => parseInvokeTransaction(plain, { calldataMax: 3, signatureMax: 1 }), /at most 1 items, got 2/)
})

t.test('another version is told apart from a malformed one', async (t) => {
  for (const version of ['0x0', '0x1', '0x2', '0x4', '0x100000000000000000000000000000001']) {
    t.throws(() => parse({ ...plain, version }), { name: 'VersionError' }, version)
  }
  t.throws(() => parse({ ...plain, version: '0x1', nonce: 1 }), { name: 'FieldError' })
  t.equal(parse({ ...plain, version: '0x03' }).version, '0x3')
  t.ok(new VersionError('0x1') instanceof Error)
})

t.test('a proof may be as long as a body', async (t) => {
  for (const proof of ['', 'AA==', 'AAA=', 'A'.repeat(8 * 2 ** 20)])
    t.equal(parse({ ...plain, proof_facts: [], proof }).proof, proof)
})
