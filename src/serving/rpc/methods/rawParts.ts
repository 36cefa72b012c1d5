/** Parts of the chain as hex of their bytes. Absent parts are `0x`, as in go-ethereum. */

import { rawTransaction } from '../../../data/chain/blockRows.js'
import type { ChainView } from '../../../data/chain/chain.js'
import type { BlockId } from '../../../data/chain/chainBlocks.js'
import type { TransactionLocation } from '../../../data/chain/findTransaction.js'
import { findKeptTransaction } from '../../../data/chain/removedHistory.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { hexText, JsonBytes } from '../../../primitives/jsonBytes.js'
import { rlpListSpans, rlpSpanAt } from '../../../primitives/rlp.js'
import type { Json } from '../method.js'
import { chainMethod } from '../network.js'
import { blockId, hash32, position } from '../params/params.js'
import { bytesSchema, listSchema, nullable } from '../params/schema.js'
import { minedBlock } from '../params/stateBlock.js'

const ofBlock = { params: [blockId({ acceptsHash: true }).as('block')], mayBeLong: true } as const
const transactionOfBlock = {
  summary: 'Signed encoding of a transaction of a block',
  mayBeLong: true,
  price: 2,
  result: bytesSchema,
} as const

/** The encoding that was signed (EIP-2718). */
const transactionByHash = chainMethod({
  summary: 'Signed encoding of a transaction of the chain',
  params: [hash32.as('transactionHash')],
  mayBeLong: true,
  price: 5,
  result: bytesSchema,
  run: ({ chain }, [hash]) => rawTransactionOf(chain, findKeptTransaction(chain, hash)),
})

export const rawPartMethods = {
  debug_getRawBlock: chainMethod({
    ...ofBlock,
    summary: 'RLP of a block',
    price: 20,
    result: bytesSchema,
    run: ({ chain }, [id]) => rawBlockPart(chain, id, (hash) => chain.readRawBlock(hash)),
  }),
  /**
   * Its Keccak-256 is in the block's header. As in execution-apis: error -32001 for an unknown block, for `pending` and
   * for blocks before Amsterdam; 4444 if the network stores no lists.
   */
  debug_getRawBlockAccessList: chainMethod({
    ...ofBlock,
    summary: 'RLP of the access list of a block (EIP-7928)',
    price: 50,
    result: bytesSchema,
    run({ chain }, [id]) {
      const block = minedBlock(chain, id)
      const list = block && chain.readBlockAccessList(block.hash)
      if (list !== undefined) return hexText(list)
      throw new FaultError({ kind: 'ResourceNotFound', why: 'there is no such block in the chain' })
    },
  }),
  /** Its Keccak-256 is the hash of the block. */
  debug_getRawHeader: chainMethod({
    ...ofBlock,
    summary: 'RLP of the header of a block',
    price: 2,
    result: bytesSchema,
    run: ({ chain }, [id]) => rawBlockPart(chain, id, (hash) => chain.readRawHeader(hash)),
  }),
  /** Null if there is no such block, or it was never executed. */
  debug_getRawReceipts: chainMethod({
    ...ofBlock,
    summary: 'Receipts of a block in their consensus encoding',
    price: 50,
    memo: 'head',
    result: nullable(listSchema(bytesSchema)),
    run({ chain }, [id]) {
      const block = chain.resolve(id, 0)
      const receipts = block && chain.readReceipts(block.hash)
      if (receipts === undefined) return 'null'
      const json = new JsonBytes(receipts.length * 2 + 2)
      json.text('[')
      for (const [index, { payload, end }] of rlpListSpans(receipts, rlpSpanAt(receipts, 0)).entries()) {
        if (index > 0) json.text(',')
        json.hex(receipts, payload, end)
      }
      json.text(']')
      return json.finish()
    },
  }),
  debug_getRawTransaction: transactionByHash,
  eth_getRawTransactionByHash: transactionByHash,
  eth_getRawTransactionByBlockHashAndIndex: chainMethod({
    ...transactionOfBlock,
    params: [hash32.as('blockHash'), position.as('index')],
    run: ({ chain }, [blockHash, index]) => rawTransactionOf(chain, { blockHash, index }),
  }),
  eth_getRawTransactionByBlockNumberAndIndex: chainMethod({
    ...transactionOfBlock,
    params: [blockId().as('block'), position.as('index')],
    run({ chain }, [id, index]) {
      const block = minedBlock(chain, id)
      return rawTransactionOf(chain, block && { blockHash: block.hash, index })
    },
  }),
}

function rawTransactionOf(chain: ChainView, at: TransactionLocation | undefined): Json {
  const block = at && chain.readBlock(at.blockHash)
  return toJson(block && rawTransaction(block, at.index))
}

/** The bytes that `read` returns for a block. Throws FaultError for an unknown hash. */
function rawBlockPart(chain: ChainView, id: BlockId, read: (hash: Hash32) => Uint8Array | undefined): Json {
  const block = chain.resolve(id, 0)
  if (block === undefined && id.kind === 'hash') throw new FaultError({ kind: 'HeaderForHashNotFound' })
  return toJson(block && read(block.hash))
}

function toJson(bytes: Uint8Array | undefined): Json {
  return bytes === undefined ? '"0x"' : hexText(bytes)
}
