/** Parameters of the `trace_` methods, in Parity's form, and the schema of their results. */
import type { BlockId } from '../../../data/chain/chainBlocks.js'
import type { ListOptions, TracerOptions } from '../../../execution/evm/tracers/tracerOptions.js'
import { excerpt } from '../../../primitives/jsonType.js'
import type { Param } from '../method.js'
import { type CallObject, callObject } from '../params/callParams.js'
import { address, blockId, invalidArgument, list, ObjectForm, position, required } from '../params/params.js'
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
import { blockCallsMax } from '../params/simulateParams.js'
import { Members, type TraceConfig } from './traceParams.js'

/** The filter of `trace_filter`. Absent blocks: the first and the last. */
interface TraceFilter {
  readonly fromBlock: BlockId | undefined
  readonly toBlock: BlockId | undefined
  readonly options: TraceConfig
}

/** Returns all calls as a list. */
export const asList: TraceConfig = { tracer: { tracer: 'parity' } }

export function oneCall(at: readonly number[]): TraceConfig {
  return { tracer: { tracer: 'parity', at } }
}

/** Maximum addresses of one filter: each is compared with each call. */
const addressesMax = 1_000

/** Parts of a replay besides the output. */
const traceTypeNames = ['trace', 'vmTrace', 'stateDiff']

type Replay = TracerOptions & { readonly tracer: 'replay' }

/** The tracer for these parts. */
export function replay(types: readonly string[]): Replay {
  const [trace = false, vmTrace = false, stateDiff = false] = traceTypeNames.map((name) =>
    types.includes(name),
  )
  return { tracer: 'replay', trace, vmTrace, stateDiff, withHash: false }
}

export const traceTypes: Param<Replay> = required(
  (value, index) => {
    const types = list('trace types').decode(value, index)
    const unknown = types.find((type) => !traceTypeNames.includes(type as string))
    if (unknown !== undefined) {
      const got = excerpt(JSON.stringify(unknown), 40)
      throw invalidArgument(index, `want trace, vmTrace or stateDiff, got ${got}`)
    }
    return replay(types as readonly string[])
  },
  listSchema({ enum: traceTypeNames }),
)

/** Maximum calls of one request: the same as of a simulated block. */
export const tracedCallList: Param<readonly { readonly call: CallObject; readonly tracer: Replay }[]> =
  required(
    (value, index) => {
      const pairs = list('calls').decode(value, index)
      if (pairs.length > blockCallsMax) throw invalidArgument(index, `want at most ${blockCallsMax} calls`)
      return pairs.map((pair) => {
        if (!Array.isArray(pair) || pair.length !== 2) {
          throw invalidArgument(index, 'want pairs of a call and trace types')
        }
        return { call: callObject.decode(pair[0], index), tracer: traceTypes.decode(pair[1], index) }
      })
    },
    { ...listSchema({ type: 'array', minItems: 2, maxItems: 2 }), maxItems: blockCallsMax },
  )

const block = blockId()

/** The indices of a call within its transaction. */
export const traceAddress: Param<readonly number[]> = required(
  (value, index) =>
    list('indices')
      .decode(value, index)
      .map((each) => position.decode(each, index)),
  listSchema(position.schema),
)

const filterForm = new ObjectForm(
  'an object for a filter',
  ['fromBlock', 'toBlock', 'fromAddress', 'toAddress', 'after', 'count'],
  true,
)

export const traceFilter: Param<TraceFilter> = required(
  (value, index) => {
    const members = new Members(value, index, filterForm)
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

/** Parity takes numbers; hex quantities are accepted as well. */
function count(value: unknown, index: number): number {
  if (typeof value !== 'number') return position.decode(value, index)
  if (!Number.isSafeInteger(value) || value < 0) throw invalidArgument(index, 'want a non-negative integer')
  return value
}

const integerSchema: Schema = { type: 'integer' }

const adHocMembers = {
  action: { type: 'object' },
  subtraces: integerSchema,
  traceAddress: listSchema(integerSchema),
  type: { type: 'string', enum: ['call', 'create', 'suicide'] },
} as const
const outcomeMembers = (): Readonly<Record<string, Schema>> => ({
  error: textSchema,
  result: nullable(
    objectSchema(
      'TraceResult',
      { gasUsed: quantitySchema },
      { output: bytesSchema, address: addressSchema, code: bytesSchema },
    ),
  ),
})

export const replaySchema: Schema = objectSchema(
  'Replay',
  {
    output: bytesSchema,
    trace: listSchema(objectSchema('AdHocTrace', adHocMembers, outcomeMembers())),
    vmTrace: nullable({ type: 'object' }),
    stateDiff: nullable({ type: 'object' }),
  },
  { transactionHash: hashSchema },
)

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
  outcomeMembers(),
)
