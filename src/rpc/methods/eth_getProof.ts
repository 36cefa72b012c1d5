import { equalBytes } from '../../primitives/bytes.js'
import type { ProofRequest } from '../../state/proof.js'
import { defineMethod } from '../method.js'
import type { JobNetwork } from '../network.js'
import { address, list, stateBlockId, storageKeys } from '../params.js'
import {
  addressSchema,
  bytesSchema,
  hashSchema,
  listSchema,
  objectSchema,
  quantitySchema,
  textSchema,
} from '../schema.js'
import { stateBlock } from '../stateBlock.js'

const proofNodes = listSchema(bytesSchema)
export const proofSchema = objectSchema('Proof', {
  address: addressSchema,
  accountProof: proofNodes,
  balance: quantitySchema,
  codeHash: hashSchema,
  nonce: quantitySchema,
  storageHash: hashSchema,
  storageProof: listSchema(
    objectSchema('StorageProof', { key: textSchema, value: quantitySchema, proof: proofNodes }),
  ),
})

/**
 * An account and some of its slots after a block, with the trie nodes that prove them against the block's state
 * root. Specification, section 4, and EIP-1186; keys and values are written as go-ethereum writes them.
 */
export const eth_getProof = defineMethod({
  name: 'eth_getProof',
  summary: 'An account and up to 1,024 of its slots, with the trie nodes that prove them (EIP-1186)',
  params: [address, list('storage keys'), stateBlockId],
  paramNames: ['address', 'storageKeys', 'block'],
  cost: 'job',
  jobClass: 'proof',
  price: ([, keys]) => 20 + keys.length,
  memo: 'head',
  result: proofSchema,
  run({ chain, head, state, jobs, proofs, proofKeysMax }: JobNetwork, [account, written, id], caller) {
    const keys = storageKeys(proofKeysMax).decode(written, 1)
    const block = stateBlock(chain, id, 2)
    // Most requests are at the head, whose header is in memory.
    const isHead = equalBytes(block.hash, head.hash)
    const stateRoot = isHead ? head.header.stateRoot : state.stateRootAfter(block)
    const args: ProofRequest = { block: block.hash, stateRoot, address: account, keys }
    const cacheKey = proofCacheKey(args)
    const held = proofs.read(cacheKey)
    if (held !== undefined) return held
    return jobs.run('prove', args, caller).then((json) => {
      proofs.keep(cacheKey, json)
      return json
    })
  },
})

/** Everything that the answer depends on, as text with one character per byte. */
function proofCacheKey({ stateRoot, address, keys }: ProofRequest): string {
  const bytes = Buffer.allocUnsafe(52 + keys.length * 33)
  bytes.set(stateRoot, 0)
  bytes.set(address, 32)
  let at = 52
  for (const { slot, writtenBytes } of keys) {
    bytes.set(slot, at)
    // The form of a key in the answer depends only on whether it was written with 32 bytes.
    bytes[at + 32] = writtenBytes === 32 ? 1 : 0
    at += 33
  }
  return bytes.toString('latin1')
}
