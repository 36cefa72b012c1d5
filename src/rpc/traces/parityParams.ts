/** Parameters of the `trace_` methods, in Parity's form, and the schema of their results. */
import type { BlockId } from '../../chain/blockId.js'
import type { ListOptions } from '../../evm/tracers/tracerOptions.js'
import type { Param } from '../method.js'
import { address, blockId, invalidArgument, list, position, required, typeName } from '../params/params.js'
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
import type { TraceConfig } from './traceParams.js'

/** What is asked of `trace_filter`. Absent blocks: the first and the last. */
export interface TraceFilter {
  readonly fromBlock: BlockId | undefined
  readonly toBlock: BlockId | undefined
  readonly options: TraceConfig
}

/** As a list of all calls. */
export const asList: TraceConfig = { tracer: { tracer: 'parity' }, timeMs: undefined }

export function oneCall(at: readonly number[]): TraceConfig {
  return { tracer: { tracer: 'parity', at }, timeMs: undefined }
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
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      throw invalidArgument(index, `want an object for a filter, got ${typeName(value)}`)
    }
    const members = new Map(Object.entries(value))
    const get = <T>(name: string, decode: (value: unknown, index: number) => T): T | undefined => {
      const member = members.get(name)
      return member === undefined || member === null ? undefined : decode(member, index)
    }
    const filter: NonNullable<ListOptions['filter']> = {
      from: get('fromAddress', addresses) ?? [],
      to: get('toAddress', addresses) ?? [],
      after: get('after', count) ?? 0,
      count: get('count', count) ?? Number.POSITIVE_INFINITY,
    }
    return {
      fromBlock: get('fromBlock', block.decode),
      toBlock: get('toBlock', block.decode),
      options: { tracer: { tracer: 'parity', filter }, timeMs: undefined },
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
