import { bytesToHex } from '../../primitives/bytes.js'
import { keccak256 } from '../../primitives/keccak.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { bytes } from '../params.js'
import { hashSchema } from '../schema.js'

/** Keccak-256 of bytes, which is not the SHA3-256 of the standard. */
export const web3_sha3 = defineMethod({
  name: 'web3_sha3',
  summary: 'Keccak-256 of bytes',
  params: [bytes],
  paramNames: ['data'],
  cost: 'inline',
  price: ([data]) => 1 + Math.floor(data.length / 1_024),
  memo: 'never',
  result: hashSchema,
  run: (_network: Network, [data]) => `"${bytesToHex(keccak256(data))}"`,
})
