/** What a client asks of `eth_subscribe`, from its parameters. Owns kinds and options; knows nothing of delivery. */
import type { BlockId } from '../chain/blockId.js'
import { LogFilter } from '../chain/logFilter.js'
import { excerpt } from '../primitives/excerpt.js'
import { FaultError } from '../primitives/faults.js'
import type { ChainRequest } from '../streams/networkStreams.js'
import type { SubscriptionLimits } from '../streams/subscriberPool.js'
import { type Delivery, type Policy, policies } from '../streams/subscription.js'
import { countLogKeys, decodeLogCriteria } from './logCriteria.js'
import { blockId, invalidArgument, text, typeName } from './params.js'

export type SubscriptionRequest =
  | { readonly kind: 'chain'; readonly request: ChainRequest }
  | { readonly kind: 'syncing'; readonly delivery: Delivery }

const kindName = text('a subscription name')
const anyBlockId = blockId({ acceptsHash: true })

const latest = 'latest'

/** Index of the options among the arguments. */
const optionsIndex = 1

type Options = Readonly<Record<string, unknown>>

const headMembers = ['replayFrom', 'fromBlock', 'policy', 'queueBytes']
const logMembers = ['address', 'topics', 'toBlock', ...headMembers]

/**
 * Throws FaultError for anything that is no subscription of this service. `requireRoom` may refuse a filter of so many
 * addresses and topics, those that stand in it twice included, before any is decoded.
 */
export function decodeSubscription(
  args: readonly unknown[],
  limits: SubscriptionLimits,
  requireRoom: (keys: number) => void,
): SubscriptionRequest {
  const [rawName, rawOptions] = args
  if (rawName === undefined || rawName === null) throw new FaultError({ kind: 'MissingArgument', index: 0 })
  const name = kindName.decode(rawName, 0)
  switch (name) {
    case 'newHeads': {
      // Some clients send whether they want full transactions, which go-ethereum passes over.
      const options = typeof rawOptions === 'boolean' ? {} : toOptions(rawOptions, headMembers)
      const delivery = decodeDelivery(options, limits)
      const from = decodeBlock(options.replayFrom) ?? decodeBlock(options.fromBlock)
      return { kind: 'chain', request: { delivery, filter: undefined, from, within: undefined } }
    }
    case 'logs': {
      const options = toOptions(rawOptions, logMembers)
      const delivery = decodeDelivery(options, limits)
      if (delivery.policy === 'conflate') {
        throw invalidArgument(optionsIndex, 'policy: "conflate" keeps the newest head; logs have none')
      }
      const filter = new LogFilter(
        decodeLogCriteria(options.address, options.topics, optionsIndex, requireRoom),
      )
      return { kind: 'chain', request: { delivery, filter, ...decodeBlocks(options) } }
    }
    case 'syncing':
      return { kind: 'syncing', delivery: decodeDelivery(toOptions(rawOptions, []), limits) }
    case 'newPendingTransactions':
      throw new FaultError({
        kind: 'SubscriptionNotFound',
        name,
        why: 'this network has no transaction pool',
      })
    default:
      throw new FaultError({ kind: 'SubscriptionNotFound', name: excerpt(name, quotedMax) })
  }
}

/** Addresses and topics that a request asks for, whatever else is in it. */
export function countKeysOf([, rawOptions]: readonly unknown[]): number {
  if (typeof rawOptions !== 'object' || rawOptions === null) return 0
  const { address, topics } = rawOptions as Options
  return countLogKeys(address, topics)
}

function toOptions(value: unknown, members: readonly string[]): Options {
  if (value === undefined || value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalidArgument(optionsIndex, `want an object, got ${typeName(value)}`)
  }
  for (const name of Object.keys(value)) {
    if (!members.includes(name)) {
      const known = members.length === 0 ? 'it takes none' : `it takes ${members.join(', ')}`
      throw invalidArgument(
        optionsIndex,
        `unknown option ${JSON.stringify(excerpt(name, quotedMax))}; ${known}`,
      )
    }
  }
  return value as Options
}

function decodeBlock(value: unknown): BlockId | undefined {
  return value === undefined || value === null ? undefined : anyBlockId.decode(value, optionsIndex)
}

/**
 * From where logs are sent. `replayFrom` is this service's and begins in the past, and so does a hash as `fromBlock`.
 * Otherwise `fromBlock` and `toBlock` are go-ethereum's: nothing is sent again, and of the blocks to come those count
 * whose number lies between the two.
 */
function decodeBlocks(options: Options): Pick<ChainRequest, 'from' | 'within'> {
  const [from, to] = [decodeBlock(options.fromBlock), decodeBlock(options.toBlock)]
  const replayFrom = decodeBlock(options.replayFrom)
  if (replayFrom === undefined && from?.kind === 'hash' && to === undefined)
    return { from, within: undefined }
  return { from: replayFrom, within: decodeWithin(from, to) }
}

/** go-ethereum's bounds of blocks to come; undefined where every one counts. */
export function decodeWithin(from: BlockId | undefined, to: BlockId | undefined): ChainRequest['within'] {
  const [first, last] = [from === undefined ? latest : boundOf(from), to === undefined ? latest : boundOf(to)]
  const isOpen = last === latest
  if (isOpen && first === latest) return undefined
  if (first === latest || (!isOpen && last < first)) throw new FaultError({ kind: 'InvalidBlockRange' })
  return { first, last: isOpen ? Number.POSITIVE_INFINITY : last }
}

/** Throws FaultError for a block that bounds no subscription in go-ethereum. */
function boundOf(id: BlockId): number | typeof latest {
  if (id.kind === 'number') return id.number
  const tag = id.kind === 'tag' ? id.tag : undefined
  if (tag === latest) return latest
  if (tag === 'earliest') return 0
  throw new FaultError({ kind: tag === 'pending' ? 'PendingLogsNotSupported' : 'InvalidBlockRange' })
}

function decodeDelivery({ policy, queueBytes }: Options, limits: SubscriptionLimits): Delivery {
  return { policy: decodePolicy(policy), queueBytes: decodeQueueBytes(queueBytes, limits) }
}

function decodePolicy(value: unknown): Policy {
  if (value === undefined || value === null) return 'close'
  const policy = policies.find((each) => each === value)
  if (policy === undefined) {
    throw invalidArgument(optionsIndex, `policy: want one of ${policies.join(', ')}`)
  }
  return policy
}

function decodeQueueBytes(value: unknown, { queueBytesDefault, queueBytesMax }: SubscriptionLimits): number {
  if (value === undefined || value === null) return queueBytesDefault
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > queueBytesMax) {
    throw invalidArgument(optionsIndex, `queueBytes: want an integer from 0 to ${queueBytesMax}`)
  }
  return value
}

/** Longest part of a name that a fault repeats: its sender recognises it, and an answer stays short. */
const quotedMax = 64
