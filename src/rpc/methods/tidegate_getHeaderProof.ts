import { mapKey } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32 } from '../params.js'
import { bytesSchema, hashSchema, listSchema, nullable, objectSchema, quantitySchema } from '../schema.js'

/**
 * The branch that proves the header of a block in the accumulator of its epoch, in the Portal Network's form
 * (`BlockProofHistoricalHashesAccumulator`): 15 hashes from the block's hash upwards. `verifyHeaderProof` of this package
 * checks it; null for a block that is not known.
 */
export const tidegate_getHeaderProof = defineMethod({
  name: 'tidegate_getHeaderProof',
  summary: 'A block header with the 15 hashes that prove it in the accumulator of its epoch',
  params: [hash32],
  paramNames: ['blockHash'],
  cost: 'job',
  price: 20,
  memo: 'head',
  result: nullable(
    objectSchema('HeaderProof', {
      blockHash: hashSchema,
      blockNumber: quantitySchema,
      epoch: quantitySchema,
      accumulator: hashSchema,
      header: bytesSchema,
      branch: listSchema(hashSchema),
    }),
  ),
  run({ chain, jobs, proofs }: Network, [hash], caller) {
    const header = chain.readHeader(hash)
    if (header === undefined) return 'null'
    const { number } = header
    // Only archives bring accumulators, and a chain that was executed here came from none.
    if (chain.identity.history === undefined) throw new FaultError({ kind: 'NoAccumulator', number })
    const cacheKey = `h${mapKey(hash)}`
    const held = proofs.read(cacheKey)
    if (held !== undefined) return held
    return jobs.run('headerProof', { number, hash }, caller).then((json) => {
      proofs.keep(cacheKey, json)
      return json
    })
  },
})
