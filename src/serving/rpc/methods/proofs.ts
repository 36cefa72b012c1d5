/** Data that a client can check against a block hash: proofs, witnesses, and reads with their proofs. */
import type { AnswerCache } from '../../../data/chain/answerCache.js'
import type { ProofRequest } from '../../../data/state/proof.js'
import { latin1Key } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { excerpt } from '../../../primitives/jsonType.js'
import { defineMethod } from '../method.js'
import { chainMethod, type JobNetwork } from '../network.js'
import {
  address,
  blockId,
  hash32,
  invalidArgument,
  list,
  optional,
  required,
  stateBlockId,
  storageKeys,
} from '../params/params.js'
import {
  addressSchema,
  bytesSchema,
  hashSchema,
  listSchema,
  nullable,
  objectSchema,
  quantitySchema,
  sentHeaderSchema,
  textSchema,
} from '../params/schema.js'
import { headerNotFound, stateBlock } from '../params/stateBlock.js'
import { headProofPrice, type VerifiedRead, verifiedReads, withHeadProof } from './verifiedReads.js'

const proofNodes = listSchema(bytesSchema)
const proofSchema = objectSchema('Proof', {
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

/** Methods that a pool thread may answer completely. */
export const stateProofMethods = {
  /** EIP-1186; keys and values are written as go-ethereum writes them. Specification, section 4. */
  eth_getProof: defineMethod({
    summary: 'An account and up to 1,024 of its slots, with the trie nodes that prove them (EIP-1186)',
    params: [address.as('address'), list('storage keys').as('storageKeys'), stateBlockId.as('block')],
    cost: 'job',
    jobClass: 'proof',
    price: ([, keys]) => 20 + keys.length,
    memo: 'head',
    result: proofSchema,
    run({ chain, state, jobs, proofs, limits }: JobNetwork, [account, written, id], context) {
      const keys = storageKeys(limits.proofKeysMax).decode(written, 1)
      const block = stateBlock(chain, id, 2, ['trie'])
      const stateRoot = state.stateRootAfter(block)
      const { number, hash } = block
      const args: ProofRequest = { number, block: hash, stateRoot, address: account, keys }
      const key = proofCacheKey(args)
      return kept(proofs, key, () => state.proveShort(args) ?? jobs.run('prove', args, context))
    },
  }),
}

const readNames = [...verifiedReads.keys()]

/** Maximum length of a name in an error message. */
const quotedMax = 80

const readName = required(
  (value, index): VerifiedRead => {
    const read = typeof value === 'string' ? verifiedReads.get(value) : undefined
    if (read !== undefined) return read
    const got = typeof value === 'string' ? JSON.stringify(excerpt(value, quotedMax)) : typeof value
    throw invalidArgument(index, `want one of ${readNames.join(', ')}, got ${got}`)
  },
  { enum: readNames },
)

export const proofMethods = {
  ...stateProofMethods,
  /**
   * In go-ethereum's form: headers as in `newHeads`, from the oldest that is needed to the parent; `keys` is always
   * null. Blocks before Byzantium, for which go-ethereum has no witness, are executed like any other.
   */
  debug_executionWitness: chainMethod({
    summary: 'Trie nodes, code and headers with which a block can be executed without its chain',
    params: [blockId({ acceptsHash: true }).as('block')],
    cost: 'job',
    price: 100,
    memo: 'head',
    result: objectSchema('ExecutionWitness', {
      headers: listSchema(sentHeaderSchema),
      codes: listSchema(bytesSchema),
      state: listSchema(bytesSchema),
      keys: { type: 'null' },
    }),
    run({ chain, jobs }, [id], context) {
      const { hash, isPending } = stateBlock(chain, id, 0, ['trie'])
      // The pending block does not exist yet.
      if (isPending) throw headerNotFound(chain, 'pending')
      return jobs.run('witness', { hash }, context)
    },
  }),
  /**
   * In the Portal Network's form (`BlockProofHistoricalHashesAccumulator`): 15 hashes from the block's hash upwards.
   * `verifyHeaderProof` of this package checks it; null for an unknown block.
   */
  tidegate_getHeaderProof: chainMethod({
    summary: 'A block header with the 15 hashes that prove it in the accumulator of its epoch',
    params: [hash32.as('blockHash')],
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
    run({ chain, jobs, proofs }, [hash], context) {
      const header = chain.readHeader(hash)
      if (header === undefined) return 'null'
      const { number } = header
      // Only archives have accumulators, and a chain that was executed here came from no archive.
      if (chain.kind.state !== 'none') throw new FaultError({ kind: 'NoAccumulator', number })
      return kept(proofs, `h${latin1Key(hash)}`, () => jobs.run('headerProof', { number, hash }, context))
    },
  }),
  /** `verify` of this package checks it. Null for an unknown block. */
  tidegate_getVerified: chainMethod({
    summary:
      'The result of a read, with the header and the trie nodes that prove it to anyone who trusts the block hash',
    params: [readName.as('method'), list('parameters').as('params'), optional(hash32).as('checkpoint')],
    cost: 'job',
    price: ([read, , checkpoint]) => read.price + (checkpoint === undefined ? 0 : headProofPrice),
    memo: 'head',
    result: nullable(
      objectSchema(
        'Verified',
        { blockHash: hashSchema, header: bytesSchema, result: {} },
        {
          proof: proofSchema,
          transactionProof: proofNodes,
          receiptProof: proofNodes,
          headProof: nullable(
            objectSchema('HeadProof', {
              bootstrap: bytesSchema,
              updates: listSchema(bytesSchema),
              update: bytesSchema,
            }),
          ),
        },
      ),
    ),
    run: (network, [read, params, checkpoint], context) => {
      const answer = read.run(network, params, context)
      return checkpoint === undefined ? answer : withHeadProof(network, checkpoint, answer)
    },
  }),
}

/** Returns the cached answer of a key, or makes it; the cache may store it. */
function kept(proofs: AnswerCache, key: string, make: () => Uint8Array | Promise<Uint8Array>) {
  const cached = proofs.read(key)
  if (cached !== undefined) return cached
  const keep = (json: Uint8Array) => {
    proofs.keep(key, json)
    return json
  }
  const made = make()
  return made instanceof Uint8Array ? keep(made) : made.then(keep)
}

/** Everything that the answer depends on, as text with one character per byte. */
function proofCacheKey({ stateRoot, address, keys }: ProofRequest): string {
  const bytes = Buffer.allocUnsafe(52 + keys.length * 33)
  bytes.set(stateRoot, 0)
  bytes.set(address, 32)
  let at = 52
  for (const { slot, writtenBytes } of keys) {
    bytes.set(slot, at)
    // The form of a key in the answer depends only on whether its written form has 32 bytes.
    bytes[at + 32] = writtenBytes === 32 ? 1 : 0
    at += 33
  }
  return bytes.toString('latin1')
}
