/** Invoke transactions for tests: those with known hashes, random ones, and variations of a plain one. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { fieldPrime } from '../../src/serving/rollup/felt.js'

export interface HashVector {
  readonly name: string
  readonly source: string
  /** ASCII. */
  readonly chain_id: string
  readonly chain_id_hex: string
  readonly tx: WrittenTransaction
  readonly expected_hash: string
}

/** A transaction in a caller's form. */
export type WrittenTransaction = Record<string, unknown> & {
  readonly resource_bounds: Record<string, unknown>
}

const recorded = JSON.parse(
  readFileSync(join(packageRoot(), 'test/conformance/invokeHashes.json'), 'utf8'),
) as HashVector[]

/** Chains do not store proofs, so a proof beside `proof_facts` is not recorded. It is not part of the hash. */
export const hashVectors: readonly HashVector[] = recorded.map((vector) =>
  'proof_facts' in vector.tx ? { ...vector, tx: { ...vector.tx, proof: 'AAAA' } } : vector,
)

/** The specification's example input: bounds as bare hex strings, signature items in decimal. */
export const specTransaction: WrittenTransaction = {
  type: 'INVOKE',
  sender_address: '0x745d525a3582e91299d8d7c71730ffc4b1f191f5b219d800334bc0edad0983b',
  calldata: ['0x1', '0x2', '0x3'],
  version: '0x3',
  signature: [
    '1004420136862022486213124434170064113168912211346003364219893437912143213925',
    '2236119011936024459936219403128063132614103225634132133712113436219834621875',
  ],
  nonce: '0x7',
  resource_bounds: { l1_gas: '0x28ed6103d0000', l2_gas: '0x5f5e100' },
  tip: '0x0',
  paymaster_data: [],
  account_deployment_data: [],
  nonce_data_availability_mode: 'L1',
  fee_data_availability_mode: 'L1',
}

/** A transaction in the official form that differs from others by sender and nonce. */
export function makeTransaction(
  sender: number | bigint,
  nonce: number,
  changes: Record<string, unknown> = {},
): WrittenTransaction {
  return {
    ...specTransaction,
    sender_address: `0x${sender.toString(16)}`,
    nonce: `0x${nonce.toString(16)}`,
    signature: ['0x1', '0x2'],
    resource_bounds: {
      l1_gas: { max_amount: '0x186a0', max_price_per_unit: '0x2d79883d20000' },
      l2_gas: { max_amount: '0x5f5e100', max_price_per_unit: '0x64' },
      l1_data_gas: { max_amount: '0x186a0', max_price_per_unit: '0x2d79883d20000' },
    },
    ...changes,
  }
}

export const feltArbitrary = fc.oneof(
  fc.bigInt({ min: 0n, max: fieldPrime - 1n }),
  fc.bigInt({ min: 0n, max: 2n ** 64n }),
  fc.constantFrom(0n, 1n, fieldPrime - 1n),
)
