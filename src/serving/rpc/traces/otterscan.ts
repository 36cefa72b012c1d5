/** Answers for Otterscan's pages, built from the answers of other methods (erigon's otterscan_api.go). */
import { blockReward, inclusionReward, uncleReward } from '../../../data/chain/blockReward.js'
import type { ChainView } from '../../../data/chain/chain.js'
import { readBlockFacts } from '../../../data/chain/header.js'
import { type Hash32, toQuantity } from '../../../primitives/bytes.js'
import {
  addressSchema,
  blockSchema,
  bytesSchema,
  listSchema,
  nullable,
  objectSchema,
  quantitySchema,
  type Schema,
} from '../params/schema.js'

type Json = Record<string, unknown>

/** Maximum transactions of one page: erigon's parameter has one byte. */
export const pageSizeMax = 255
/** Digits of the input of a transaction in a list: `0x` and a function's selector. */
const selectorDigits = 10

export const blockDetailsSchema: Schema = objectSchema('BlockDetails', {
  block: { type: 'object' },
  issuance: objectSchema('Issuance', {
    blockReward: quantitySchema,
    uncleReward: quantitySchema,
    issuance: quantitySchema,
  }),
  totalFees: quantitySchema,
})
export const blockPageSchema: Schema = objectSchema('BlockPage', {
  fullblock: { type: 'object', title: blockSchema.title },
  receipts: { type: 'array', items: { type: 'object' } },
})

const callTypes = ['CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT']

export const callsSchema: Schema = nullable(
  listSchema(
    objectSchema('OtterscanCall', {
      type: { type: 'string', enum: callTypes },
      depth: { type: 'integer' },
      from: addressSchema,
      to: addressSchema,
      value: nullable(quantitySchema),
      input: bytesSchema,
      output: bytesSchema,
    }),
  ),
)
export const operationsSchema: Schema = nullable(
  listSchema(
    objectSchema('InternalOperation', {
      type: { type: 'integer', minimum: 0, maximum: 3 },
      from: addressSchema,
      to: addressSchema,
      value: quantitySchema,
    }),
  ),
)

/** A block without its transactions, its issuance, and the fees paid for gas; null if the block is unknown. */
export function blockDetailsJson(chain: ChainView, hash: Hash32): string {
  const block = shortBlock(chain, hash)
  const receipts = parsed<readonly Json[]>(chain.receiptsJson(hash))
  if (block === undefined || receipts === undefined) return 'null'
  const totalFees = receipts.reduce(
    (sum, { gasUsed, effectiveGasPrice }) =>
      sum + BigInt(gasUsed as string) * BigInt(effectiveGasPrice as string),
    0n,
  )
  const { transactions, ...rest } = block
  return JSON.stringify({
    block: rest,
    issuance: issuanceOf(chain, hash),
    totalFees: toQuantity(totalFees),
  })
}

/**
 * A page of a block's transactions with their receipts, in the order of the block; page 0 has the last ones. Inputs are
 * cut after the selector, and logs are left out. Null if the block is unknown.
 */
export function blockPageJson(chain: ChainView, hash: Hash32, page: number, pageSize: number): string {
  const block = shortBlock(chain, hash)
  if (block === undefined) return 'null'
  const end = Math.max((block.transactions as unknown[]).length - page * pageSize, 0)
  const start = Math.max(end - pageSize, 0)
  const transactions: Json[] = []
  for (let index = start; index < end; index++) {
    const transaction = parsed<Json>(chain.transactionJson(hash, index))
    if (transaction === undefined) return 'null'
    transactions.push({ ...transaction, input: (transaction.input as string).slice(0, selectorDigits) })
  }
  const whole = parsed<readonly Json[]>(chain.someReceiptsJson(hash, start, end))
  if (whole === undefined) return 'null'
  const receipts = whole.map((receipt) => ({ ...receipt, logs: null, logsBloom: null }))
  return JSON.stringify({ fullblock: { ...block, transactions }, receipts })
}

/** A block with the hashes of its transactions, their number, and no bloom. */
function shortBlock(chain: ChainView, hash: Hash32): Json | undefined {
  const block = parsed<Json>(chain.blockJson(hash, false))
  if (block === undefined) return undefined
  const transactionCount = toQuantity((block.transactions as unknown[]).length)
  return { ...block, logsBloom: null, transactionCount }
}

function issuanceOf(chain: ChainView, hash: Hash32): Json {
  const rows = chain.readBlock(hash)
  let own = 0n
  let ofUncles = 0n
  if (rows !== undefined && rows.header.number > 0 && rows.header.difficulty !== 0n) {
    const { header, body, uncles } = rows
    const reward = blockReward(chain.schedule.forkAt(header.number, header.timestamp, false))
    own = reward + inclusionReward(reward, uncles.length)
    for (const { start, end } of uncles) {
      const { number } = readBlockFacts(body.subarray(start, end))
      ofUncles += uncleReward(reward, header.number - number)
    }
  }
  return {
    blockReward: toQuantity(own),
    uncleReward: toQuantity(ofUncles),
    issuance: toQuantity(own + ofUncles),
  }
}

function parsed<T>(json: Uint8Array | undefined): T | undefined {
  return json === undefined ? undefined : (JSON.parse(Buffer.from(json).toString()) as T)
}
