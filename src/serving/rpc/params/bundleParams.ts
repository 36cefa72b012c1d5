/** Parameters of `eth_callMany` and `debug_traceCallMany`, as in Erigon and Reth. */
import type { BlockId } from '../../../data/chain/chainBlocks.js'
import type { BlockOverrides } from '../../../execution/evm/messages/executionRequest.js'
import { messageRefused } from '../../../primitives/faults.js'
import type { Param } from '../method.js'
import {
  type CallObject,
  callObject,
  type Decoder,
  type Decoders,
  listOf,
  Members,
  overriddenMembers,
  type Writable,
} from './callParams.js'
import { blockId, integer, invalidArgument, ObjectForm, optional, required } from './params.js'
import { listSchema, nullable, type Schema } from './schema.js'
import { blockCallsMax, blocksMax } from './simulateParams.js'

interface Bundle {
  readonly calls: readonly CallObject[]
  readonly blockOverrides: BlockOverrides | undefined
}

/** Where the first call runs: after a block, or before its transaction `index`. */
interface CallsPlace {
  readonly block: BlockId
  readonly index: number | undefined
}

/** Erigon's names of the members → those of `eth_call`. */
const { number, time, feeRecipient, prevRandao, baseFeePerGas } = overriddenMembers
const otherNames: Readonly<Record<string, Decoders<BlockOverrides>>> = {
  blockNumber: { number },
  timestamp: { time },
  coinbase: { feeRecipient },
  random: { prevRandao },
  baseFee: { baseFeePerGas },
} as Readonly<Record<string, Decoders<BlockOverrides>>>

const overrideForm = new ObjectForm(
  'a block override',
  [...Object.keys(overriddenMembers), ...Object.keys(otherNames), 'blockHash'],
  true,
)
const bundleForm = new ObjectForm('a bundle', ['transactions', 'blockOverride'])
const placeForm = new ObjectForm('a state context', ['blockNumber', 'transactionIndex'])

const blockOverride: Decoder<BlockOverrides> = (value, index) => {
  const members = new Members(value, index, overrideForm)
  if (members.has('blockHash')) throw messageRefused('block override "blockHash" is not supported')
  const overrides: Writable<BlockOverrides> = {}
  members.put<BlockOverrides>(overrides, overriddenMembers)
  for (const [name, decoders] of Object.entries(otherNames)) {
    for (const [member, decode] of Object.entries(decoders)) {
      const given = members.get(name, decode as Decoder<never>)
      if (given !== undefined) Object.assign(overrides, { [member]: given })
    }
  }
  return overrides
}

/** The calls of all bundles are counted before they are decoded. */
export const bundles: Param<readonly Bundle[]> = required(
  (value, index) => {
    const decoded = listOf(
      (each, at) => new Members(each, at, bundleForm),
      'a list of bundles',
      blocksMax,
    )(value, index)
    let left = blockCallsMax
    const found = decoded.map((members) => {
      const calls = members.get('transactions', (given) => {
        if (Array.isArray(given)) left -= given.length
        if (left < 0) throw invalidArgument(index, `want at most ${blockCallsMax} calls`)
        return listOf(callObject.decode, 'a list of calls')(given, index)
      })
      return { calls: calls ?? [], blockOverrides: members.get('blockOverride', blockOverride) }
    })
    if (!found.some(({ calls }) => calls.length > 0)) throw messageRefused('empty bundles')
    return found
  },
  {
    ...listSchema({
      type: 'object',
      title: 'bundle',
      properties: {
        transactions: nullable(listSchema(callObject.schema)),
        blockOverride: nullable({ type: 'object' }),
      },
    }),
    maxItems: blocksMax,
  },
)

const latest: CallsPlace = { block: { kind: 'tag', tag: 'latest' }, index: undefined }
const contextBlock = blockId({ acceptsHash: true })
const indexSchema: Schema = { anyOf: [{ type: 'integer', minimum: -1 }, { type: 'string' }] }

/** The place of the bundle; if absent, it comes after the newest block. */
export const callsPlace: Param<CallsPlace> = optional(
  required(
    (value, index): CallsPlace => {
      const members = new Members(value, index, placeForm)
      const at = members.get('transactionIndex', (given, at) =>
        // Erigon's word for all transactions.
        given === -1 ? undefined : integer('a transaction index').decode(given, at),
      )
      return { block: members.get('blockNumber', contextBlock.decode) ?? latest.block, index: at }
    },
    {
      type: 'object',
      title: 'state context',
      properties: { blockNumber: nullable(contextBlock.schema), transactionIndex: nullable(indexSchema) },
    },
  ),
  latest,
)

/** The same price as of `eth_simulateV1`. */
export function bundlesPrice([asked]: readonly [readonly Bundle[], ...unknown[]]): number {
  return asked.reduce((sum, { calls }) => sum + 20 * (1 + calls.length), 100)
}
