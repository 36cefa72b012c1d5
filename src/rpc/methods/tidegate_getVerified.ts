import { excerpt } from '../../primitives/excerpt.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { invalidArgument, list, required } from '../params.js'
import { bytesSchema, hashSchema, listSchema, nullable, objectSchema } from '../schema.js'
import { type VerifiedRead, verifiedReads } from '../verifiedReads.js'
import { proofSchema } from './eth_getProof.js'

const names = [...verifiedReads.keys()]

/** Longest part of a name that an error message repeats. */
const quotedMax = 80

const readName = required(
  (value, index): VerifiedRead => {
    const read = typeof value === 'string' ? verifiedReads.get(value) : undefined
    if (read !== undefined) return read
    const got = typeof value === 'string' ? JSON.stringify(excerpt(value, quotedMax)) : typeof value
    throw invalidArgument(index, `want one of ${names.join(', ')}, got ${got}`)
  },
  { enum: names },
)

/**
 * The result of a read with all that proves it to who trusts the hash of its block: the header, and nodes of the trie
 * that the header names. `verify` of this package checks it. Null for a block that is not known.
 */
export const tidegate_getVerified = defineMethod({
  name: 'tidegate_getVerified',
  summary:
    'The result of a read, with the header and the trie nodes that prove it to who trusts the block hash',
  params: [readName, list('parameters')],
  paramNames: ['method', 'params'],
  cost: 'job',
  price: ([read]) => read.price,
  memo: 'head',
  result: nullable(
    objectSchema(
      'Verified',
      { blockHash: hashSchema, header: bytesSchema, result: {} },
      {
        proof: proofSchema,
        transactionProof: listSchema(bytesSchema),
        receiptProof: listSchema(bytesSchema),
      },
    ),
  ),
  run: (network: Network, [read, params], caller) => read.run(network, params, caller),
})
