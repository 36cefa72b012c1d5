import { poseidonHashMany } from '@scure/starknet'
import fc from 'fast-check'
import { constants, hash, type ResourceBoundsBN } from 'starknet'
import t from 'tap'
import { asciiToFelt, fieldPrime, toFelt } from '../../../../src/serving/rollup/felt.js'
import { computeInvokeHash } from '../../../../src/serving/rollup/invokeHash.js'
import {
  invokeLimitsDefault,
  parseInvokeTransaction,
  toHashedFields,
} from '../../../../src/serving/rollup/invokeTransaction.js'
import { hashList } from '../../../../src/serving/rollup/poseidon.js'
import { propertyRuns } from '../../../library/property.js'
import {
  feltArbitrary,
  hashVectors,
  specTransaction,
  type WrittenTransaction,
} from '../../../rollup/invokeTransactions.js'

function hashOf(written: WrittenTransaction, chainId: string): string {
  const fields = toHashedFields(parseInvokeTransaction(written, invokeLimitsDefault))
  return computeInvokeHash({ chainId: asciiToFelt(chainId), fields })
}

t.test('transactions of real chains have their known hashes', async (t) => {
  t.equal(hashVectors.length, 8)
  for (const { name, chain_id, chain_id_hex, tx, expected_hash } of hashVectors) {
    t.equal(asciiToFelt(chain_id), chain_id_hex, name)
    t.equal(hashOf(tx, chain_id), expected_hash, name)
  }
})

t.test('the hash does not depend on the signature nor on how integers are written', async (t) => {
  const hashed = hashOf(specTransaction, 'SN_SEPOLIA')
  t.equal(hashOf({ ...specTransaction, signature: [] }, 'SN_SEPOLIA'), hashed)
  t.equal(hashOf({ ...specTransaction, nonce: '0x0007', tip: '0x00' }, 'SN_SEPOLIA'), hashed)
  t.equal(
    hashOf(
      {
        ...specTransaction,
        sender_address: `0x0${String(specTransaction.sender_address).slice(2).toUpperCase()}`,
      },
      'SN_SEPOLIA',
    ),
    hashed,
  )
  t.not(hashOf({ ...specTransaction, nonce: '0x8' }, 'SN_SEPOLIA'), hashed)
  t.not(hashOf(specTransaction, 'SN_MAIN'), hashed)
})

t.test('a bare bound is a ceiling on the fee: that amount at a price of one', async (t) => {
  const bounds = { max_price_per_unit: '0x1' }
  const official = {
    ...specTransaction,
    resource_bounds: {
      l1_gas: { ...bounds, max_amount: '0x28ed6103d0000' },
      l2_gas: { ...bounds, max_amount: '0x5f5e100' },
    },
  }
  t.equal(hashOf(specTransaction, 'SN_MAIN'), hashOf(official, 'SN_MAIN'))
})

t.test('an absent bound for data gas differs from one of zero', async (t) => {
  const zero = { max_amount: '0x0', max_price_per_unit: '0x0' }
  const withZero = { ...specTransaction.resource_bounds, l1_data_gas: zero }
  t.not(
    hashOf({ ...specTransaction, resource_bounds: withZero }, 'SN_MAIN'),
    hashOf(specTransaction, 'SN_MAIN'),
  )
})

t.test('lists hash as with @scure/starknet', async (t) => {
  fc.assert(
    fc.property(fc.array(feltArbitrary, { maxLength: 12 }), (list) => {
      t.equal(hashList(list), poseidonHashMany([...list]))
    }),
    propertyRuns(50),
  )
})

t.test('every length hashes as with @scure/starknet, also where lists are taken in parts', async (t) => {
  fc.assert(
    fc.property(fc.array(feltArbitrary, { minLength: 80, maxLength: 80 }), (list) => {
      for (let length = 0; length <= list.length; length++) {
        const part = list.slice(0, length)
        t.equal(hashList(part), poseidonHashMany([...part]), `${length} felts`)
      }
    }),
    propertyRuns(1),
  )
  const many = Array.from({ length: 1_025 }, (_, i) => (BigInt(i) + 3n) ** 170n % fieldPrime)
  for (const length of [510, 511, 512, 513, 1_023, 1_024, 1_025]) {
    const part = many.slice(0, length)
    t.equal(hashList(part), poseidonHashMany([...part]), `${length} felts`)
  }
})

t.test('felts at the edges of limbs and of the field hash as with @scure/starknet', async (t) => {
  const powers = Array.from({ length: 252 }, (_, bit) => 2n ** BigInt(bit))
  const around = [0n, fieldPrime / 2n, 17n * 2n ** 192n, 2n ** 251n - 2n ** 29n, ...powers, fieldPrime]
  const edges = around
    .flatMap((value) => [value - 1n, value, value + 1n])
    .filter((value) => value >= 0n && value < fieldPrime)
  for (const [i, edge] of edges.entries()) {
    const list = [edge, edges[(i * 7) % edges.length] as bigint]
    t.equal(hashList(list), poseidonHashMany([...list]), String(list))
  }
  for (const edge of [0n, 1n, fieldPrime - 1n, 2n ** 251n, 2n ** 251n - 1n, 2n ** 232n - 1n]) {
    const list = Array.from({ length: 41 }, () => edge)
    t.equal(hashList(list), poseidonHashMany([...list]), `${edge} only`)
  }
})

t.test('random transactions hash as with starknet.js', async (t) => {
  const bound = fc.record({
    max_amount: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    max_price_per_unit: fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }),
  })
  const felts = fc.array(feltArbitrary, { maxLength: 6 })
  const mode = fc.constantFrom('L1' as const, 'L2' as const)
  const arbitrary = fc.record({
    sender: feltArbitrary,
    nonce: feltArbitrary,
    tip: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    version: fc.constantFrom('0x3' as const, '0x100000000000000000000000000000003' as const),
    calldata: fc.array(feltArbitrary, { maxLength: 20 }),
    paymaster: felts,
    deployment: felts,
    facts: fc.option(felts, { nil: undefined }),
    bounds: fc.record({ l1_gas: bound, l2_gas: bound, l1_data_gas: bound }),
    nonceMode: mode,
    feeMode: mode,
    chainId: fc.constantFrom(constants.StarknetChainId.SN_MAIN, constants.StarknetChainId.SN_SEPOLIA),
  })
  const hex = (value: bigint) => toFelt(value)
  const written = (bounds: ResourceBoundsBN) =>
    Object.fromEntries(
      Object.entries(bounds).map(([name, { max_amount, max_price_per_unit }]) => [
        name,
        { max_amount: hex(max_amount), max_price_per_unit: hex(max_price_per_unit) },
      ]),
    )
  fc.assert(
    fc.property(arbitrary, (tx) => {
      const fields = toHashedFields(
        parseInvokeTransaction(
          {
            type: 'INVOKE',
            version: tx.version,
            sender_address: hex(tx.sender),
            calldata: tx.calldata.map(hex),
            signature: [],
            nonce: hex(tx.nonce),
            resource_bounds: written(tx.bounds),
            tip: hex(tx.tip),
            paymaster_data: tx.paymaster.map(hex),
            account_deployment_data: tx.deployment.map(hex),
            nonce_data_availability_mode: tx.nonceMode,
            fee_data_availability_mode: tx.feeMode,
            ...(tx.facts && { proof_facts: tx.facts.map(hex), proof: '' }),
          },
          invokeLimitsDefault,
        ),
      )
      const expected = hash.calculateInvokeTransactionHash({
        senderAddress: tx.sender,
        version: tx.version,
        compiledCalldata: tx.calldata.map(String),
        chainId: tx.chainId,
        nonce: tx.nonce,
        accountDeploymentData: tx.deployment,
        nonceDataAvailabilityMode: tx.nonceMode === 'L1' ? 0 : 1,
        feeDataAvailabilityMode: tx.feeMode === 'L1' ? 0 : 1,
        resourceBounds: tx.bounds,
        tip: tx.tip,
        paymasterData: tx.paymaster,
        ...(tx.facts && { proofFacts: tx.facts }),
      })
      const chainId = toFelt(BigInt(tx.chainId))
      t.equal(computeInvokeHash({ chainId, fields }), expected)
    }),
    propertyRuns(100),
  )
})
