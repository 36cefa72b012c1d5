import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId } from '../params.js'
import { bytesSchema, listSchema, objectSchema, sentHeaderSchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'

/**
 * The trie nodes, code and headers with which a block can be executed without its chain. In go-ethereum's form:
 * headers as `newHeads` has them, from the oldest that is needed to the parent; `keys` is always null. go-ethereum
 * answers none for blocks before Byzantium; here they are executed like any other.
 */
export const debug_executionWitness = defineMethod({
  name: 'debug_executionWitness',
  summary: 'Trie nodes, code and headers with which a block can be executed without its chain',
  params: [blockId({ acceptsHash: true })],
  paramNames: ['block'],
  cost: 'job',
  price: 100,
  memo: 'head',
  result: objectSchema('ExecutionWitness', {
    headers: listSchema(sentHeaderSchema),
    codes: listSchema(bytesSchema),
    state: listSchema(bytesSchema),
    keys: { type: 'null' },
  }),
  run({ chain, jobs }: Network, [id], caller) {
    const { hash, isPending } = stateBlock(chain, id, 0)
    // The pending block does not exist yet.
    if (isPending) throw new FaultError({ kind: 'HeaderNotFound' })
    return jobs.run('witness', { hash }, caller)
  },
})
