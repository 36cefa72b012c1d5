/** Decodes the parameters of `eth_subscribe`. Owns kinds and options; streams own delivery. */
import type { BlockId } from '../../../data/chain/chainBlocks.js'
import { LogFilter } from '../../../data/chain/logFilter.js'
import { latin1Key } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { excerpt, isObject } from '../../../primitives/jsonType.js'
import { type ChainRequest, WantedReceipts } from '../../streams/chainRequest.js'
import type { SubscriptionLimits } from '../../streams/subscriberPool.js'
import { type Delivery, type Policy, policies } from '../../streams/subscription.js'
import { blockId, hash32, invalidArgument, list, ObjectForm, text } from '../params/params.js'
import { countLogKeys, decodeLogCriteria } from './logCriteria.js'

export type SubscriptionRequest =
  | { readonly kind: 'chain'; readonly request: ChainRequest }
  | { readonly kind: 'syncing'; readonly delivery: Delivery }
  | { readonly kind: 'pending'; readonly delivery: Delivery; readonly isWhole: boolean }

const kindName = text('a subscription name')
const anyBlockId = blockId({ acceptsHash: true })

const latest = 'latest'

const optionsIndex = 1

/** go-ethereum's limit. */
const receiptHashesMax = 200

type Options = Readonly<Record<string, unknown>>

const formOf = (...names: readonly string[]) => new ObjectForm('an object of options', names, true)
const headForm = formOf('replayFrom', 'fromBlock', 'policy', 'queueBytes')
const receiptForm = formOf('transactionHashes', 'replayFrom', 'policy', 'queueBytes')
const pendingForm = formOf('fullTransactions', 'policy', 'queueBytes')
const logForm = formOf('address', 'topics', 'toBlock', 'replayFrom', 'fromBlock', 'policy', 'queueBytes')
/** Only the members that have a price. */
const criteriaForm = new ObjectForm('an object of options', ['address', 'topics'])
const syncingForm = formOf()

/** `requireRoom` is called with the number of addresses and topics before they are decoded, and may throw. */
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
      // Some clients send a boolean for full transactions; go-ethereum ignores it.
      const options = typeof rawOptions === 'boolean' ? {} : toOptions(rawOptions, headForm)
      const delivery = decodeDelivery(options, limits)
      const from = decodeBlock(options.replayFrom) ?? decodeBlock(options.fromBlock)
      return { kind: 'chain', request: { delivery, filter: undefined, from, within: undefined } }
    }
    case 'logs': {
      const options = toOptions(rawOptions, logForm)
      const delivery = decodeDelivery(options, limits, 'logs')
      const filter = new LogFilter(
        decodeLogCriteria(options.address, options.topics, optionsIndex, requireRoom),
      )
      return { kind: 'chain', request: { delivery, filter, ...decodeBlocks(options) } }
    }
    case 'transactionReceipts': {
      const options = toOptions(rawOptions, receiptForm)
      const delivery = decodeDelivery(options, limits, 'receipts')
      const receipts = decodeReceipts(options.transactionHashes, requireRoom)
      const from = decodeBlock(options.replayFrom)
      return { kind: 'chain', request: { delivery, filter: undefined, receipts, from, within: undefined } }
    }
    case 'syncing':
      return { kind: 'syncing', delivery: decodeDelivery(toOptions(rawOptions, syncingForm), limits) }
    case 'newPendingTransactions':
      return decodePending(rawOptions, limits)
    default:
      throw new FaultError({ kind: 'SubscriptionNotFound', name: excerpt(name, quotedMax) })
  }
}

/** As in go-ethereum, a boolean requests whole transactions; here an option does so too. */
function decodePending(rawOptions: unknown, limits: SubscriptionLimits): SubscriptionRequest {
  const isFlag = typeof rawOptions === 'boolean'
  const options = isFlag ? {} : toOptions(rawOptions, pendingForm)
  const delivery = decodeDelivery(options, limits, 'transactions')
  const { fullTransactions = false } = isFlag ? { fullTransactions: rawOptions } : options
  if (typeof fullTransactions !== 'boolean') {
    throw invalidArgument(optionsIndex, 'fullTransactions: want a boolean')
  }
  return { kind: 'pending', delivery, isWhole: fullTransactions }
}

export function countKeysOf([, rawOptions]: readonly unknown[]): number {
  if (!isObject(rawOptions)) return 0
  const { address, topics } = criteriaForm.read(rawOptions, optionsIndex)
  return countLogKeys(address, topics)
}

/** The transactions whose receipts are requested: all if there is no list. */
function decodeReceipts(value: unknown, requireRoom: (keys: number) => void): WantedReceipts | 'all' {
  if (value === undefined || value === null) return 'all'
  const hashes = list('transaction hashes').decode(value, optionsIndex)
  if (hashes.length === 0) return 'all'
  if (hashes.length > receiptHashesMax) {
    const why = `exceed max number of transaction hashes allowed per transactionReceipts subscription`
    throw invalidArgument(optionsIndex, `${why} (${receiptHashesMax})`)
  }
  requireRoom(hashes.length)
  return new WantedReceipts(hashes.map((hash) => latin1Key(hash32.decode(hash, optionsIndex))))
}

function toOptions(value: unknown, form: ObjectForm): Options {
  return value === undefined || value === null ? {} : form.read(value, optionsIndex)
}

function decodeBlock(value: unknown): BlockId | undefined {
  return value === undefined || value === null ? undefined : anyBlockId.decode(value, optionsIndex)
}

/**
 * The blocks whose logs are sent. `replayFrom`, an option of this service, starts at an earlier block; so does a hash
 * as `fromBlock`. Otherwise `fromBlock` and `toBlock` mean the same as in go-ethereum. No past logs are sent, and new
 * blocks count if their number is between the two.
 */
function decodeBlocks(options: Options): Pick<ChainRequest, 'from' | 'within'> {
  const from = decodeBlock(options.fromBlock)
  const to = decodeBlock(options.toBlock)
  const replayFrom = decodeBlock(options.replayFrom)
  if (replayFrom === undefined && from?.kind === 'hash' && to === undefined)
    return { from, within: undefined }
  return { from: replayFrom, within: decodeWithin(from, to) }
}

/** go-ethereum's limits on new blocks; undefined if all blocks count. */
export function decodeWithin(from: BlockId | undefined, to: BlockId | undefined): ChainRequest['within'] {
  const first = from === undefined ? latest : boundOf(from)
  const last = to === undefined ? latest : boundOf(to)
  const isOpen = last === latest
  if (isOpen && first === latest) return undefined
  if (first === latest || (!isOpen && last < first)) throw new FaultError({ kind: 'InvalidBlockRange' })
  return { first, last: isOpen ? Number.POSITIVE_INFINITY : last }
}

/** A limit as a number or `latest`. Throws FaultError for a block that go-ethereum refuses here. */
function boundOf(id: BlockId): number | typeof latest {
  if (id.kind === 'number') return id.number
  const tag = id.kind === 'tag' ? id.tag : undefined
  if (tag === latest) return latest
  if (tag === 'earliest') return 0
  throw new FaultError({ kind: tag === 'pending' ? 'PendingLogsNotSupported' : 'InvalidBlockRange' })
}

/** `headless` names the events of a subscription that sends no heads. */
function decodeDelivery(
  { policy, queueBytes }: Options,
  limits: SubscriptionLimits,
  headless?: string,
): Delivery {
  const delivery = { policy: decodePolicy(policy), queueBytes: decodeQueueBytes(queueBytes, limits) }
  if (headless === undefined || delivery.policy !== 'conflate') return delivery
  throw invalidArgument(optionsIndex, `policy: "conflate" keeps the newest head; ${headless} have none`)
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

/** Maximum length of a name in an error message. */
const quotedMax = 64
