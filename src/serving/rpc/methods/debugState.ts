/** Parts of states in the order of their tries, and the changes of blocks, as in go-ethereum (`debug_…`). */
import type { StatePartsRequest } from '../../../execution/evm/blocks/stateParts.js'
import { bytesToHex } from '../../../primitives/bytes.js'
import { FaultError, messageRefused } from '../../../primitives/faults.js'
import type { RequestContext } from '../contexts/requestContext.js'
import { chainMethod, type Network } from '../network.js'
import {
  address,
  blockId,
  boolean,
  bytes,
  hash32,
  integer,
  invalidArgument,
  optional,
  required,
} from '../params/params.js'
import {
  addressSchema,
  bytesSchema,
  hashSchema,
  listSchema,
  mapSchema,
  nullable,
  objectSchema,
  type Schema,
  textSchema,
} from '../params/schema.js'
import { headerNotFound, stateBlock } from '../params/stateBlock.js'
import { blockNotFound, tracedBlock, tracedBlockAt } from '../traces/traceJob.js'
import { plainTrace, traceConfig } from '../traces/traceParams.js'

const job = { cost: 'job', price: 100 } as const

/** Maximum slots of one answer: 1.5 MB of JSON. A caller gets the next ones from `nextKey` on. */
const slotsMax = 10_000
/** Maximum accounts of one answer, as in go-ethereum. */
const accountsMax = 256

/** A hash of 32 bytes, or a prefix of one. */
const start = required((value, index) => {
  const key = bytes.decode(value, index)
  if (key.length > 32) throw invalidArgument(index, `want at most 32 bytes, got ${key.length}`)
  return key
}, bytes.schema)

const hexText: Schema = { type: 'string', title: 'hex digits', pattern: '^([0-9a-f]{2})*$' }
const modifiedSchema = nullable(listSchema(addressSchema))

export const debugStateMethods = {
  /**
   * Accounts after a block in the order of their hashes, with code and storage unless the options exclude them. The
   * next answer begins at the hash `next`. Every account has its address here, so `incompletes` changes nothing.
   */
  debug_accountRange: chainMethod({
    ...job,
    price: 500,
    summary: 'Page of all accounts after a block, in the order of their hashes',
    params: [
      blockId({ acceptsHash: true }).as('block'),
      start.as('start'),
      integer('a number of accounts').as('count'),
      optional(boolean, false).as('withoutCode'),
      optional(boolean, false).as('withoutStorage'),
      optional(boolean, false).as('incompletes'),
    ],
    result: objectSchema(
      'AccountRange',
      {
        root: hexText,
        accounts: mapSchema(
          'accounts',
          textSchema,
          objectSchema(
            'DumpedAccount',
            {
              balance: textSchema,
              nonce: { type: 'integer' },
              root: hashSchema,
              codeHash: hashSchema,
              address: addressSchema,
              key: hashSchema,
            },
            { code: bytesSchema, storage: mapSchema('storage', hashSchema, hexText) },
          ),
        ),
      },
      { next: hashSchema },
    ),
    run(network, [id, start, count, withoutCode, withoutStorage], context) {
      const { number, hash, isPending } = stateBlock(network.chain, id, 0)
      if (isPending) throw headerNotFound(network.chain, 'pending')
      const request = {
        kind: 'accountRange',
        block: { number, hash },
        start,
        count: count === 0 ? accountsMax : Math.min(count, accountsMax),
        withCode: !withoutCode,
        withStorage: !withoutStorage,
      } as const
      return network.jobs.run('stateParts', request, context)
    },
  }),
  /**
   * Accounts that exist afterwards, in the order of their hashes; null if there are none. With one block: the accounts
   * that it changed.
   */
  debug_getModifiedAccountsByHash: chainMethod({
    ...job,
    summary: 'Accounts that were changed from one block to another, by their hashes',
    params: [hash32.as('startHash'), optional(hash32).as('endHash')],
    result: modifiedSchema,
    run(network, [startHash, endHash], context) {
      const [first, last] = [startHash, endHash].map((hash, at) => {
        if (hash === undefined) return undefined
        const found = network.chain.readHeader(hash)
        if (found === undefined) throw messageRefused(`${places[at]} block ${bytesToHex(hash)} not found`)
        return { number: found.number, hash }
      })
      return modifiedJson(network, first as NamedBlock, last, context)
    },
  }),
  debug_getModifiedAccountsByNumber: chainMethod({
    ...job,
    summary: 'Accounts that were changed from one block to another, by their numbers',
    params: [
      integer('a block number').as('startNumber'),
      optional(integer('a block number')).as('endNumber'),
    ],
    result: modifiedSchema,
    run(network, [startNumber, endNumber], context) {
      const [first, last] = [startNumber, endNumber].map((number, at) => {
        if (number === undefined) return undefined
        const found = network.chain.resolve({ kind: 'number', number }, at)
        // go-ethereum writes the first number in hex.
        if (found === undefined)
          throw messageRefused(`${places[at]} block ${number.toString(at === 0 ? 16 : 10)} not found`)
        return found
      })
      return modifiedJson(network, first as NamedBlock, last, context)
    },
  }),
  /** Null for a block without transactions. The options are those of a trace and have no effect. */
  debug_intermediateRoots: chainMethod({
    ...job,
    price: 500,
    summary: 'State roots after each transaction of a block',
    params: [hash32.as('blockHash'), optional(traceConfig, plainTrace).as('options')],
    result: nullable(listSchema(hashSchema)),
    run(network, [hash], context) {
      return run(network, { kind: 'roots', blockHash: tracedBlock(network, hash).blockHash }, context)
    },
  }),
  /**
   * The slots after the previous block: as in go-ethereum, the answer lacks changes by earlier transactions of the
   * block. The index is only checked.
   */
  debug_storageRangeAt: chainMethod({
    ...job,
    summary: 'Page of the slots of an account before a block, in the order of their hashes',
    params: [
      blockId({ acceptsHash: true }).as('block'),
      integer('an index of a transaction').as('transactionIndex'),
      address.as('address'),
      start.as('start'),
      integer('a number of slots').as('count'),
    ],
    result: objectSchema('StorageRange', {
      storage: nullable(
        mapSchema(
          'slots',
          hashSchema,
          objectSchema('RangeSlot', { key: nullable(hashSchema), value: hashSchema }),
        ),
      ),
      nextKey: nullable(hashSchema),
    }),
    run(network, [id, index, address, start, count], context) {
      const { blockHash } = tracedBlockAt(network, id)
      const request = { blockHash, index, address, start, count: Math.min(count, slotsMax) }
      return run(network, { kind: 'storageRange', ...request }, context)
    },
  }),
}

const places = ['start', 'end'] as const

type NamedBlock = (StatePartsRequest & { kind: 'modified' })['first']

function run({ jobs }: Network, request: StatePartsRequest, context: RequestContext): Promise<Uint8Array> {
  return jobs.run('stateParts', request, context)
}

/** Changes in the blocks after `start` up to `end`; without `end`, in `start` alone. */
function modifiedJson(
  network: Network,
  start: NamedBlock,
  end: NamedBlock | undefined,
  context: RequestContext,
): Promise<Uint8Array> {
  const { number, hash } = start
  const changed = (first: NamedBlock, last: NamedBlock) =>
    run(network, { kind: 'modified', first, last }, context)
  if (end !== undefined) {
    if (number < end.number) return changed({ number, hash }, { number: end.number, hash: end.hash })
    const why = `start block height (${number}) must be less than end block height (${end.number})`
    throw messageRefused(why)
  }
  if (number === 0) throw messageRefused('block 0 has no parent')
  const oldest = network.chain.oldest.state
  if (oldest > 0 && number <= oldest)
    throw new FaultError({ kind: 'HistoryPruned', oldest, needsParent: true })
  const parentHash = network.chain.readHeader(hash as never)?.parentHash
  if (parentHash === undefined) throw blockNotFound(bytesToHex(hash))
  return changed({ number: number - 1, hash: parentHash }, { number, hash })
}
