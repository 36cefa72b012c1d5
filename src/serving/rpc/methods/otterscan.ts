/** Data of Otterscan's pages (erigon's `ots_…`); its other reads are with those of accounts and transactions. */
import type { TracerOptions } from '../../../execution/evm/tracers/tracerOptions.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import type { RequestContext } from '../contexts/requestContext.js'
import { chainMethod, type Network } from '../network.js'
import { address, blockId, hash32, integer } from '../params/params.js'
import { bytesSchema, nullable } from '../params/schema.js'
import {
  blockDetailsJson,
  blockDetailsSchema,
  blockPageJson,
  blockPageSchema,
  callsSchema,
  operationsSchema,
  pageSizeMax,
} from '../traces/otterscan.js'
import {
  creatorJson,
  creatorSchema,
  searchJson,
  searchPageMax,
  searchSchema,
} from '../traces/otterscanSearch.js'
import { traceOfHashJson } from '../traces/traceJob.js'

const details = { price: 100, memo: 'head', result: nullable(blockDetailsSchema) } as const
/** Executes a transaction of the chain again; null if the chain has no such transaction. */
const trace = {
  params: [hash32.as('transactionHash')],
  cost: 'job',
  price: 100,
} as const
/** Traces the blocks that changed the account (otterscanSearch.ts): about one block for each transaction found. */
const search = {
  params: [
    address.as('address'),
    integer('a block number').as('blockNumber'),
    integer('a page size', searchPageMax).as('pageSize'),
  ],
  cost: 'job',
  price: ([, , pageSize]: readonly [unknown, unknown, number]) => 100 + 20 * pageSize,
  result: searchSchema,
} as const

export const otterscanMethods = {
  ots_getApiLevel: chainMethod({
    summary: "Level of Otterscan's methods, 8",
    price: 1,
    memo: 'head',
    result: { type: 'integer' },
    run: () => '8',
  }),
  ots_getBlockDetails: chainMethod({
    ...details,
    summary: 'Block without transactions, with their number, fees and issuance; the number may be decimal',
    params: [blockId({ acceptsDecimal: true }).as('block')],
    run({ chain }, [id]) {
      const block = chain.resolve(id, 0)
      return block === undefined ? 'null' : blockDetailsJson(chain, block.hash)
    },
  }),
  ots_getBlockDetailsByHash: chainMethod({
    ...details,
    summary: 'The same of the block with this hash',
    params: [hash32.as('hash')],
    run: ({ chain }, [hash]) => blockDetailsJson(chain, hash),
  }),
  /** Page 0 has the last ones. Null if there is no such block. */
  ots_getBlockTransactions: chainMethod({
    summary: "Page of a block's transactions, from its end, with cut inputs and receipts without logs",
    params: [
      blockId({ acceptsDecimal: true }).as('block'),
      integer('a page').as('page'),
      integer('a page size', pageSizeMax).as('pageSize'),
    ],
    price: 100,
    memo: 'head',
    result: nullable(blockPageSchema),
    run({ chain }, [id, page, pageSize]) {
      const block = chain.resolve(id, 0)
      return block === undefined ? 'null' : blockPageJson(chain, block.hash, page, pageSize)
    },
  }),
  /** Null for an address without code, and for a contract of the genesis block. */
  ots_getContractCreator: chainMethod({
    summary: 'Creator of a contract, and the hash of the transaction',
    params: [address.as('address')],
    cost: 'job',
    price: 100,
    memo: 'head',
    result: nullable(creatorSchema),
    run: (network, [contract], context) => creatorJson(network, contract, context),
  }),
  ots_getInternalOperations: chainMethod({
    ...trace,
    summary: 'Transfers of ether within a transaction, its creations and selfdestructs, without undone ones',
    result: operationsSchema,
    run: (network, [hash], context) => traced(network, hash, { tracer: 'otterscanOperations' }, context),
  }),
  /** The caller decodes the data. */
  ots_getTransactionError: chainMethod({
    ...trace,
    summary: 'Data with which a transaction reverted; 0x if it did not',
    result: nullable(bytesSchema),
    run: (network, [hash], context) => traced(network, hash, { tracer: 'revertData' }, context),
  }),
  ots_searchTransactionsAfter: chainMethod({
    ...search,
    summary: 'Page of the transactions of an address after a block, the newest first; 0 for all',
    run: (network, [address, number, pageSize], context) =>
      searchJson(network, { address, number, pageSize, isBackward: false }, context),
  }),
  ots_searchTransactionsBefore: chainMethod({
    ...search,
    summary: 'Page of the transactions of an address before a block, the newest first; 0 for all',
    run: (network, [address, number, pageSize], context) =>
      searchJson(network, { address, number, pageSize, isBackward: true }, context),
  }),
  /** As a list that includes reverted calls. */
  ots_traceTransaction: chainMethod({
    ...trace,
    summary: 'Every call, creation and selfdestruct of a transaction, in order, with its depth',
    result: callsSchema,
    run: (network, [hash], context) => traced(network, hash, { tracer: 'otterscanCalls' }, context),
  }),
}

function traced(network: Network, hash: Hash32, tracer: TracerOptions, context: RequestContext) {
  return traceOfHashJson(network, hash, { tracer }, context)
}
