/**
 * Blocks, their headers, uncles, receipts and access lists, by hash (canonical or not) and by number or tag.
 * Specification, section 4. Null if there is no such block; the pending block has only some of these parts.
 */

import type { ChainView } from '../../../data/chain/chain.js'
import type { BlockId } from '../../../data/chain/chainBlocks.js'
import { type Hash32, toQuantity } from '../../../primitives/bytes.js'
import { chainMethod, type Network } from '../network.js'
import { blockId, boolean, hash32, position } from '../params/params.js'
import {
  blockAccessListSchema,
  blockSchema,
  headerSchema,
  listSchema,
  nullable,
  quantitySchema,
  receiptSchema,
  uncleSchema,
} from '../params/schema.js'
import { minedBlock, minedBlockOfAnyTag } from '../params/stateBlock.js'

const byHash = { params: [hash32.as('blockHash')] } as const
const byNumber = { params: [blockId().as('block')] } as const

const block = {
  price: ([, isFull]: readonly [unknown, boolean]) => (isFull ? 50 : 10),
  memo: 'head',
  result: nullable(blockSchema),
} as const
const header = { price: 5, memo: 'head', result: nullable(headerSchema) } as const
const uncle = {
  summary: 'Uncle of a block by its index',
  price: 5,
  memo: 'head',
  result: nullable(uncleSchema),
} as const
const count = { price: 2, memo: 'head', result: nullable(quantitySchema) } as const
const transactionCount = { ...count, summary: 'Number of transactions of a block' } as const
const uncleCount = { ...count, summary: 'Number of uncles of a block' } as const

export const blockMethods = {
  /** Like {@link headerAt}; the number may be a JSON number, as Otterscan sends it. */
  erigon_getHeaderByNumber: chainMethod({
    ...header,
    summary: 'Header of a block; Otterscan asks for it to identify the node',
    params: [blockId({ acceptsDecimal: true }).as('block')],
    run: (network, [id]) => headerAt(network, id),
  }),
  /**
   * As in execution-apis: slots and their values of 32 bytes, all six members in each account. Null for an unknown
   * block, for a block of a non-canonical branch, and for `pending`. Error -32001 for blocks before Amsterdam, and 4444
   * if the network stores no lists.
   */
  eth_getBlockAccessList: chainMethod({
    summary:
      'Access list of a block (EIP-7928): accounts and slots that it reads, and values after each change',
    params: [blockId({ acceptsHash: true }).as('block')],
    price: 100,
    memo: 'head',
    result: nullable(blockAccessListSchema),
    run({ chain }, [id]) {
      const block = minedBlock(chain, id)
      return (block && chain.blockAccessListJson(block.hash)) ?? 'null'
    },
  }),
  eth_getBlockByHash: chainMethod({
    ...block,
    summary: 'Block with this hash, canonical or not',
    params: [hash32.as('blockHash'), boolean.as('fullTransactions')],
    run: ({ chain }, [hash, isFull]) => chain.blockJson(hash, isFull) ?? 'null',
  }),
  eth_getBlockByNumber: chainMethod({
    ...block,
    summary: 'Block of this number or tag',
    params: [blockId().as('block'), boolean.as('fullTransactions')],
    run({ chain }, [id, isFull]) {
      const ready = id.kind === 'number' && !isFull ? chain.readyBlockAt(id.number) : undefined
      if (ready !== undefined) return ready
      const block = chain.resolve(id, 0)
      if (block === undefined) return 'null'
      if (block.isPending) return chain.pendingBlockJson(isFull)
      return chain.blockJson(block.hash, isFull, block.number) ?? 'null'
    },
  }),
  /** In transaction order; null also for a block of a branch that was never executed. `pending` means `latest`. */
  eth_getBlockReceipts: chainMethod({
    summary: 'Receipts of a block; the block may be a decimal number too',
    params: [blockId({ acceptsHash: true, acceptsDecimal: true }).as('block')],
    price: 100,
    memo: 'head',
    result: nullable(listSchema(receiptSchema)),
    run({ chain }, [id]) {
      const block = chain.resolve(id, 0)
      return (block && chain.receiptsJson(block.hash)) ?? 'null'
    },
  }),
  eth_getBlockTransactionCountByHash: chainMethod({
    ...transactionCount,
    ...byHash,
    run: ({ chain }, [hash]) => countJson(chain, hash, 'transactions'),
  }),
  eth_getBlockTransactionCountByNumber: chainMethod({
    ...transactionCount,
    ...byNumber,
    run: ({ chain }, [id]) => countAt(chain, id, 'transactions'),
  }),
  eth_getHeaderByHash: chainMethod({
    ...header,
    ...byHash,
    summary: 'Header of a block',
    run: ({ chain }, [hash]) => chain.headerJson(hash) ?? 'null',
  }),
  eth_getHeaderByNumber: chainMethod({
    ...header,
    ...byNumber,
    summary: 'Header of a block',
    run: (network, [id]) => headerAt(network, id),
  }),
  eth_getUncleByBlockHashAndIndex: chainMethod({
    ...uncle,
    params: [hash32.as('blockHash'), position.as('index')],
    run: ({ chain }, [hash, index]) => chain.uncleJson(hash, index) ?? 'null',
  }),
  eth_getUncleByBlockNumberAndIndex: chainMethod({
    ...uncle,
    params: [blockId().as('block'), position.as('index')],
    run({ chain }, [id, index]) {
      const block = minedBlockOfAnyTag(chain, id)
      return (block && chain.uncleJson(block.hash, index)) ?? 'null'
    },
  }),
  eth_getUncleCountByBlockHash: chainMethod({
    ...uncleCount,
    ...byHash,
    run: ({ chain }, [hash]) => countJson(chain, hash, 'uncles'),
  }),
  eth_getUncleCountByBlockNumber: chainMethod({
    ...uncleCount,
    ...byNumber,
    run: ({ chain }, [id]) => countAt(chain, id, 'uncles'),
  }),
}

/** The header as JSON; null for an unknown block and for the pending one. */
function headerAt({ chain }: Network, id: BlockId): string | Uint8Array {
  const block = chain.resolve(id, 0)
  // go-ethereum also has a pending block, but no header of it.
  if (block === undefined || block.isPending) return 'null'
  return chain.headerJson(block.hash) ?? 'null'
}

function countJson(chain: ChainView, hash: Hash32, parts: 'transactions' | 'uncles'): string {
  const block = chain.readBlock(hash)
  return block === undefined ? 'null' : `"${toQuantity(block[parts].length)}"`
}

/** The pending block has no uncles. */
function countAt(chain: ChainView, id: BlockId, parts: 'transactions' | 'uncles'): string {
  const found = chain.resolve(id, 0)
  if (found?.isPending) return `"${toQuantity(parts === 'uncles' ? 0 : chain.pendingTransactionCount)}"`
  return found === undefined ? 'null' : countJson(chain, found.hash, parts)
}
