/** Members of `limits` in the configuration file, each with its reason. */
import { unitsMax } from '../rpc/price.js'
import { integer } from './schema.js'

const KiB = 2 ** 10
const MiB = 2 ** 20
const GiB = 2 ** 30

export const bodyBytesDefault = 5 * MiB
export const requestMsDefault = 30_000
export const bufferedBodyBytesDefault = 256 * MiB
export const socketPingMsDefault = 30_000
export const socketIdleMsDefault = 120_000
/** One subscription with the longest filter. */
const subscriptionBytesMin = 102_000
/** What the largest filter that is polled is counted as. */
const filterBytesMin = 202_000
export const subscriptionQueueBytesDefault = MiB
export const subscriptionQueueBytesMaxDefault = 16 * MiB

/** What a page loads at once that was quiet for as long, and short enough that nobody can stall the node with it. */
export const burstSeconds = 10

export const limitsShape = {
  /**
   * Compute units (rpc/price.ts) that each API key may spend a second; 100,000 are one core. Where absent nothing is
   * counted: on a node of one's own there is nobody to share it with.
   */
  keyUnitsPerSecond: integer(1, 1_000_000).optional(),
  /** Units that a key may spend at once: at least the dearest call, and {@link burstSeconds} of its rate where absent. */
  keyUnitsBurst: integer(unitsMax, 1_000_000_000).optional(),
  /** Body of one HTTP request. geth's limit, to which tools size their batches. */
  bodyBytesMax: integer(KiB, GiB).default(bodyBytesDefault),
  /** Time for a body to arrive. geth's read deadline; the largest body fits in it at 1.4 Mbit/s. */
  bodyMsMax: integer(100).default(30_000),
  /** Bodies still arriving, over all connections: 51 of the largest, so that slow senders cannot fill the memory. */
  bufferedBodyBytesMax: integer(KiB).default(bufferedBodyBytesDefault),
  /** Calls of one batch. geth's limit. */
  batchCallsMax: integer(1).default(1_000),
  /** Answer of one batch. geth's limit, in decimal megabytes as there. */
  batchAnswerBytesMax: integer(KiB, GiB).default(25_000_000),
  /** Time for one request, batch or not. geth's write deadline, after which a client has gone. */
  requestMsMax: integer(100).default(requestMsDefault),
  /** Threads for proofs, calls and bulk work; all cores but one, and at least two, where absent. */
  poolThreads: integer(2, 256).optional(),
  /** How far behind the edge the scheduler puts these threads, on Linux; 0 for not at all. See pool/jobPool.ts. */
  poolNiceness: integer(0, 19).default(10),
  /** Proofs that wait for a thread. At 0.5 ms each a full queue is half a second of work; more would only wait. */
  proofWaitingMax: integer(1).default(1_000),
  /** Calls, estimates and access lists that wait: a second of token transfers, and minutes of calls that run to their limit. */
  executeWaitingMax: integer(1).default(500),
  /** Jobs of up to 1,000 mapping slots that wait: half a second of work. The largest call makes ten of them. */
  slotsWaitingMax: integer(1).default(100),
  /** Searches of logs that wait: seconds of ordinary ones, which are those of more than 2 ms. */
  logsWaitingMax: integer(1).default(200),
  /** Hashes of submitted transactions that wait: four seconds of ordinary ones, at 2 ms each. */
  hashWaitingMax: integer(1).default(2_000),
  /** Rendered answers kept in memory, over all networks: about 500 full blocks with receipts, at 0.5 MB each. */
  answerCacheBytes: integer(0).default(256 * MiB),
  /** Logs of one answer, those of a single block excepted. What hosted services allow, to which clients size ranges. */
  logsMax: integer(1, 10_000_000).default(10_000),
  /** Bytes of them: as much as the answer of a batch may have. 10,000 token transfers have 7.5 MB. */
  logBytesMax: integer(KiB, GiB / 4).default(25_000_000),
  /** How long a filter of eth_newFilter may be asked for nothing. geth's. */
  filterIdleMsMax: integer(1_000).default(300_000),
  /** Memory of the filters of one key: 4,000 without a list, and a quarter of all, so that others find room as well. */
  keyFilterBytesMax: integer(filterBytesMin).default(8 * MiB),
  /** The same of all keys, of each network. */
  filterBytesMax: integer(filterBytesMin).default(32 * MiB),
  /** Storage keys of one eth_getProof. geth's limit; an answer of so many has about 8 MB. */
  proofKeysMax: integer(1, 100_000).default(1_024),
  /** Proofs kept in memory, over all networks: 4,600 of an account and 3 slots, at 7 KB each. */
  proofCacheBytes: integer(0).default(32 * MiB),
  /** Answers remembered by the words of their question until the head moves, of each network: 28,000 of 100 bytes each. */
  memoBytes: integer(0).default(32 * MiB),
  /** Time for one call, estimate or access list to execute, with all its runs. geth's limit. */
  executionMsMax: integer(10).default(5_000),
  /** Memory that one execution may hold: contracts that do something useful stay below 20 MiB. */
  executionMemoryBytesMax: integer(16 * MiB).default(256 * MiB),
  /** Most gas of a call or estimate, in gas limits of the current block. Specification, section 8. */
  executionGasBlocks: integer(1, 1_000).default(10),
  /** Message on a WebSocket; where absent, what transport/unfinishedMessages.ts says. */
  socketMessageBytesMax: integer(KiB, GiB).optional(),
  /** Calls of one WebSocket that wait: half a second of token transfers, and half of the queue is left to others. */
  socketCallsMax: integer(1, 100_000).default(256),
  /** Answers that one WebSocket may leave unread: the longest one of a batch, with those that end meanwhile. */
  socketUnsentBytesMax: integer(MiB).default(32 * MiB),
  /** Unread answers and waiting messages of all WebSockets, as much as bodies still arriving. */
  socketBufferedBytesMax: integer(MiB).default(256 * MiB),
  /** WebSockets at the same time: 50 MB where all are idle, at 2.5 kB each. */
  socketsMax: integer(1).default(20_000),
  /** WebSockets of one key: half of all, so that one user never shuts out the others. */
  socketsPerKeyMax: integer(1).default(10_000),
  /** From one ping to the next. geth's. */
  socketPingMs: integer(100).default(socketPingMsDefault),
  /** How long a WebSocket may be silent, pongs included. geth's idle time. */
  socketIdleMsMax: integer(100).default(socketIdleMsDefault),
  /** Subscriptions of one WebSocket: a page that watches a thousand contracts has one each. */
  subscriptionsMax: integer(1, 100_000).default(1_024),
  /** Memory of the subscriptions of one WebSocket: all it may have, with 20 addresses each; or 40 of 1,000 each. */
  socketSubscriptionBytesMax: integer(subscriptionBytesMin).default(4 * MiB),
  /** The same of one key: eight full WebSockets, and a quarter of all, so that others find room as well. */
  keySubscriptionBytesMax: integer(subscriptionBytesMin).default(32 * MiB),
  /** The same of all WebSockets: 67,000 without a filter, or 1,300,000 addresses, in a heap of 2 GB beside the rest. */
  subscriptionBytesMax: integer(subscriptionBytesMin).default(128 * MiB),
  /** Events that may wait for a slow reader, per subscription that names no bound: 500 heads, or 1,500 transfers. */
  subscriptionQueueBytes: integer(0, GiB).default(subscriptionQueueBytesDefault),
  /** The largest bound that a subscription may name. */
  subscriptionQueueBytesMax: integer(0, GiB).default(subscriptionQueueBytesMaxDefault),
  /** Blocks behind the head from which a subscription may resume: 33 hours at 12 s each, and 16 MB of heads. */
  replayBlocksMax: integer(0).default(10_000),
}
