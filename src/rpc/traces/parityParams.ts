/** Parameters of the `trace_` methods, in Parity's form, and the schema of their results. */
import type { BlockId } from '../../chain/blockId.js'
import type { ListOptions } from '../../evm/tracers/tracerOptions.js'
import type { Param } from '../method.js'
import { address, blockId, invalidArgument, list, position, required } from '../params/params.js'
import {
  addressSchema,
  bytesSchema,
  hashSchema,
  listSchema,
  nullable,
  objectSchema,
  quantitySchema,
  type Schema,
  textSchema,
} from '../params/schema.js'
import { Members, type TraceConfig } from './traceParams.js'

/** What is asked of `trace_filter`. Absent blocks: the first and the last. */
export interface TraceFilter {
  readonly fromBlock: BlockId | undefined
  readonly toBlock: BlockId | undefined
  readonly options: TraceConfig
}

/** As a list of all calls. */
export const asList: TraceConfig = { tracer: { tracer: 'parity' } }

export function oneCall(at: readonly number[]): TraceConfig {
  return { tracer: { tracer: 'parity', at } }
}

/** Addresses of one filter: each is compared with each call. */
const addressesMax = 1_000

const block = blockId()

/** The indices of a call within its transaction. */
export const traceAddress: Param<readonly number[]> = required(
  (value, index) =>
    list('indices')
      .decode(value, index)
      .map((each) => position.decode(each, index)),
  listSchema(position.schema),
)

export const traceFilter: Param<TraceFilter> = required(
  (value, index) => {
    const members = new Members(value, index, 'a filter')
    const filter: NonNullable<ListOptions['filter']> = {
      from: members.get('fromAddress', addresses) ?? [],
      to: members.get('toAddress', addresses) ?? [],
      after: members.get('after', count) ?? 0,
      count: members.get('count', count) ?? Number.POSITIVE_INFINITY,
    }
    return {
      fromBlock: members.get('fromBlock', block.decode),
      toBlock: members.get('toBlock', block.decode),
      options: { tracer: { tracer: 'parity', filter } },
    }
  },
  {
    type: 'object',
    title: 'trace filter',
    properties: {
      fromBlock: nullable(block.schema),
      toBlock: nullable(block.schema),
      fromAddress: nullable(listSchema(address.schema)),
      toAddress: nullable(listSchema(address.schema)),
      after: nullable({ type: ['integer', 'string'] }),
      count: nullable({ type: ['integer', 'string'] }),
    },
  },
)

function addresses(value: unknown, index: number): Uint8Array[] {
  const items = list('addresses').decode(value, index)
  if (items.length > addressesMax) throw invalidArgument(index, `more than ${addressesMax} addresses`)
  return items.map((each) => address.decode(each, index))
}

/** Parity takes these as numbers; hex quantities are accepted as well. */
function count(value: unknown, index: number): number {
  if (typeof value !== 'number') return position.decode(value, index)
  if (!Number.isSafeInteger(value) || value < 0) throw invalidArgument(index, 'want a non-negative integer')
  return value
}

const integerSchema: Schema = { type: 'integer' }

export const callTraceSchema: Schema = objectSchema(
  'Trace',
  {
    action: { type: 'object' },
    blockHash: hashSchema,
    blockNumber: integerSchema,
    subtraces: integerSchema,
    traceAddress: listSchema(integerSchema),
    transactionHash: nullable(hashSchema),
    transactionPosition: nullable(integerSchema),
    type: { type: 'string', enum: ['call', 'create', 'suicide', 'reward'] },
  },
  {
    error: textSchema,
    result: nullable(
      objectSchema(
        'TraceResult',
        { gasUsed: quantitySchema },
        { output: bytesSchema, address: addressSchema, code: bytesSchema },
      ),
    ),
  },
)
