/** Members of `limits` in the configuration file, each with the reason for its default. */
import { unitsMax } from '../../serving/rpc/contexts/price.js'
import { integer, milliseconds } from './schema.js'

const KiB = 2 ** 10
const MiB = 2 ** 20
const GiB = 2 ** 30

export const bodyBytesDefault = 5 * MiB
export const requestMsDefault = 30_000
export const bufferedBodyBytesDefault = 256 * MiB
export const socketPingMsDefault = 30_000
export const socketIdleMsDefault = 120_000
/** Room for one subscription with the longest filter. */
const subscriptionBytesMin = 102_000
/** Room for the largest polled filter. */
const filterBytesMin = 202_000
export const subscriptionQueueBytesDefault = MiB
export const subscriptionQueueBytesMaxDefault = 16 * MiB

/**
 * Default burst, in seconds of the rate: enough for a page that loads after a pause, too little to stall the node.
 */
export const burstSeconds = 10

export const limitsShape = {
  /**
   * Compute units (rpc/contexts/price.ts) that each API key may spend per second; 100,000 are one core. If absent, no
   * limit, for a private node.
   */
  keyUnitsPerSecond: integer(1, 1_000_000).optional(),
  /**
   * Compute units that a key may spend at once; at least the most expensive call. If absent, {@link burstSeconds} of
   * its rate.
   */
  keyUnitsBurst: integer(unitsMax, 1_000_000_000).optional(),
  /** Body of one HTTP request. geth's limit, which tools expect when they form batches. */
  bodyBytesMax: integer(KiB, GiB).default(bodyBytesDefault),
  /** Time for a body to arrive. geth's read deadline; the largest body arrives within it at 1.4 Mbit/s. */
  bodyMsMax: milliseconds(100).default(30_000),
  /** Unfinished bodies of all connections together: 51 of the largest. Keeps slow senders from filling the memory. */
  bufferedBodyBytesMax: integer(KiB).default(bufferedBodyBytesDefault),
  /**
   * Body of one request of a consensus client. Hex makes a payload twice as long as its block. A block has at most 10
   * MiB (EIP-7934), or 16 MiB for the largest batches of rollups. The network's own thread parses it, so that no caller
   * waits.
   */
  engineBodyBytesMax: integer(MiB, GiB).default(32 * MiB),
  /**
   * Connections of consensus clients at once, each with one request at a time: a beacon node opens up to a dozen. A new
   * connection replaces an idle one.
   */
  engineConnectionsMax: integer(1, 10_000).default(64),
  /**
   * Payloads in memory whose parents are not stored. Nodes have the newest blocks some seconds later than a consensus
   * client. 16 blocks are 32 s of the OP Stack, and each has 10 MiB at most.
   */
  engineReceivedMax: integer(1, 1_024).default(16),
  /**
   * Blocks of a gap whose links are in memory at once. Of the whole gap one link of each window is, 800 bytes: 16 MB for
   * the 20 million blocks of mainnet.
   */
  engineWindowBlocks: integer(1, 1_000_000).default(1_024),
  /** Headers per request for the gap, and most blocks of one import: the batch that most nodes accept. */
  engineBatchBlocks: integer(1, 1_000).default(64),
  /** Bytes of the blocks of one import: decoded, they take up to ten times as much. */
  engineBatchBytes: integer(KiB, GiB).default(MiB),
  /**
   * Time for which blocks of a gap are imported between two calls of the consensus client, which waits 8 s for an answer. At
   * least one block is.
   */
  engineTurnMs: milliseconds(1).default(250),
  /** Wait before a missing block is requested again: nodes get a new block within a second or two. */
  engineRetryMs: milliseconds(10).default(500),
  /** Time after which a missing block is reported: a slot of 12 s, in which other nodes get it. */
  engineMissingMs: milliseconds(100).default(12_000),
  /** Calls of one batch. geth's limit. */
  batchCallsMax: integer(1).default(1_000),
  /** Answer of one batch. geth's limit, in decimal megabytes as in geth. */
  batchAnswerBytesMax: integer(KiB, GiB).default(25_000_000),
  /** Time for one request, batch or not. geth's write deadline, after which clients have given up. */
  requestMsMax: milliseconds(100).default(requestMsDefault),
  /**
   * Time that the start waits for the sources of networks before it listens. It is enough to open a store of an earlier
   * run, and to find a mistake in the configuration, which ends the start. The start does not wait longer for nodes
   * that are down.
   */
  startMsMax: milliseconds(100).default(4_000),
  /**
   * Time to fetch one thing from the nodes of a gateway, of a forked chain, or of a gap under a consensus client. Two
   * thirds of a request's time, so that an answer or the refusal still arrives. A node that never answers is abandoned
   * within it.
   */
  fetchMsMax: milliseconds(100).default(20_000),
  /**
   * Slots of a forked chain in one eth_getProof. A proof has some 3 KB, so most nodes answer as many at once. The slots
   * of a ring of EIP-2935 and EIP-4788 that are fetched ahead are 64.
   */
  forkProofSlotsMax: integer(1, 100_000).default(512),
  /**
   * Rounds of fetching for one transaction, call or change on a forked chain. A round fetches all values that the last
   * run lacked. So this bounds a chain of values of which each depends on the one before, such as a linked list.
   */
  forkRoundsMax: integer(1, 1_000_000).default(1_024),
  /**
   * Blocks of one anvil_mine or evm_mine, more than the periods of any governor. Most of them are in runs of empty
   * blocks, whose hashes take some microseconds each.
   */
  minedBlocksMax: integer(1, 100_000_000).default(1_000_000),
  /** Blocks of one such call that are executed. Each takes some 2 ms on a busy machine, and a request has 30 s. */
  executedBlocksMax: integer(1, 1_000_000).default(5_000),
  /**
   * CPU time, for each listening thread, in which a new server calls its main methods before it listens. So V8 has
   * compiled the code for the first requests of users. The warm-up takes at most twice this time. More would delay the
   * start; 0: off.
   */
  warmUpMs: integer(0, 60_000).default(2_000),
  /** Threads for proofs, calls and bulk work. If absent, all cores but one, and at least two. */
  poolThreads: integer(2, 256).optional(),
  /**
   * Niceness of these threads above the edge's, on Linux. 0: the same, for machines whose other processes use all
   * cores, where nicer threads would hardly run. See pool/jobPool.ts.
   */
  poolNiceness: integer(0, 19).default(10),
  /**
   * Proofs that wait for a thread: 0.1 s of work at 0.5 ms each. More would only wait longer, and to receive and pack
   * hundreds at once takes the edge from others.
   */
  proofWaitingMax: integer(1).default(256),
  /**
   * Calls, estimates and access lists that wait. The same number as of proofs; if all run to their time limit, they
   * take minutes.
   */
  executeWaitingMax: integer(1).default(256),
  /**
   * Limit of waiting jobs, each of up to 1,000 mapping slots: half a second of work. The largest call makes ten of
   * them.
   */
  slotsWaitingMax: integer(1).default(100),
  /** Log searches that wait: some seconds of ordinary ones. Searches of less than 2 ms do not use the pool. */
  logsWaitingMax: integer(1).default(200),
  /** Hashes of submitted transactions that wait: four seconds of work at 2 ms each. */
  hashWaitingMax: integer(1).default(2_000),
  /** Rendered answers kept in memory, all networks together: about 500 full blocks with receipts, at 0.5 MB each. */
  answerCacheBytes: integer(0).default(256 * MiB),
  /**
   * Number of newest blocks of a network for which the JSON of block, transactions and receipts is stored. Nearly an
   * hour of a chain with a block in 12 s, and more than its two epochs up to finality. Most reads are of these blocks.
   * 0: none.
   */
  readyBlocks: integer(0, 1_000_000).default(256),
  /** Bytes of that on disk, per network: 365 blocks of 250 transactions, at 0.7 MB each. */
  readyBytes: integer(0).default(256 * MiB),
  /**
   * Logs of one answer, except for a search in a single block. The limit of hosted services, which clients expect.
   */
  logsMax: integer(1, 10_000_000).default(10_000),
  /**
   * Bytes of the logs of one answer: as many as the answer of a batch may have. 10,000 token transfers have 7.5 MB.
   */
  logBytesMax: integer(KiB, GiB / 4).default(25_000_000),
  /** Time without a poll after which a filter of eth_newFilter is removed. geth's. */
  filterIdleMsMax: milliseconds(1_000).default(300_000),
  /**
   * Memory of the polled filters of one key: 4,000 without lists; a quarter of `filterBytesMax`, so that other keys
   * find room.
   */
  keyFilterBytesMax: integer(filterBytesMin).default(8 * MiB),
  /** Memory of the polled filters of all keys together, per network. */
  filterBytesMax: integer(filterBytesMin).default(32 * MiB),
  /** Storage keys of one eth_getProof. geth's limit; the answer for as many has about 8 MB. */
  proofKeysMax: integer(1, 100_000).default(1_024),
  /**
   * Characters of typed data that a developer chain signs, as JSON: ten times the longest orders that wallets sign. A
   * number with this many digits takes the thread that makes blocks 10 ms; 4,000,000 digits take half a minute.
   */
  typedDataCharsMax: integer(KiB, 4 * MiB).default(128 * KiB),
  /** Proofs kept in memory, all networks together: 4,600 of an account and 3 slots, at 7 KB each. */
  proofCacheBytes: integer(0).default(32 * MiB),
  /**
   * Answers remembered by the text of their request until the head changes, per network: 28,000 of 100 bytes each.
   */
  memoBytes: integer(0).default(32 * MiB),
  /** Execution time of one call, estimate or access list, all its runs together. geth's limit. */
  executionMsMax: milliseconds(10).default(5_000),
  /** Memory of one execution: useful contracts stay below 20 MiB. */
  executionMemoryBytesMax: integer(16 * MiB).default(256 * MiB),
  /** Most gas of a call or estimate, as a multiple of the current block's gas limit. */
  executionGasBlocks: integer(1, 1_000).default(10),
  /** Gas of a simulation, all its blocks together. geth's cap, which also decides how much an open message gets. */
  simulationGasMax: integer(21_000, 1_000_000_000_000).default(50_000_000),
  /**
   * Time of one trace, including the reading of its answer. Six times geth's, because a whole block is one trace.
   * `requestMsMax` also limits it.
   */
  traceMsMax: milliseconds(10).default(30_000),
  /** Bytes of one trace: 5,000,000 instructions at 200 bytes each. Traces are sent in parts, and so take no memory. */
  traceBytesMax: integer(KiB).default(GiB),
  /** Traces that wait: each may take seconds, so more would not be answered in time. */
  traceWaitingMax: integer(1).default(100),
  /**
   * Number of traces by tracers in JavaScript that run at once, half of them of one key. Each has a thread of its own,
   * of up to 150 MB besides the memory of its execution.
   */
  scriptsMax: integer(1, 256).default(2),
  /** Such traces that wait: each keeps its place for as long as `traceMsMax`, so that more would not be answered. */
  scriptsWaitingMax: integer(1).default(20),
  /** Maximum bytes of a WebSocket message; if absent, the default of transport/wire.ts. */
  socketMessageBytesMax: integer(KiB, GiB).optional(),
  /** Waiting calls of one WebSocket: as many as may wait for a thread. */
  socketCallsMax: integer(1, 100_000).default(256),
  /** Unread answers of one WebSocket: the longest answer of a batch, with those that finish meanwhile. */
  socketUnsentBytesMax: integer(MiB).default(32 * MiB),
  /** Unread answers and waiting messages of all WebSockets together: as many bytes as `bufferedBodyBytesMax`. */
  socketBufferedBytesMax: integer(MiB).default(256 * MiB),
  /** Open WebSockets: 50 MB if all are idle, at 2.5 kB each. */
  socketsMax: integer(1).default(20_000),
  /** Open WebSockets of one key: half of all, so that one user cannot shut out the others. */
  socketsPerKeyMax: integer(1).default(10_000),
  /** Time between two pings. geth's. */
  socketPingMs: milliseconds(100).default(socketPingMsDefault),
  /** Time for which a WebSocket may send nothing, not even a pong. geth's idle time. */
  socketIdleMsMax: milliseconds(100).default(socketIdleMsDefault),
  /** Subscriptions of one WebSocket: one each for a page that watches a thousand contracts. */
  subscriptionsMax: integer(1, 100_000).default(1_024),
  /** Memory of the subscriptions of one WebSocket: 1,024 with 20 addresses each, or 40 with 1,000 each. */
  socketSubscriptionBytesMax: integer(subscriptionBytesMin).default(4 * MiB),
  /**
   * Memory of the subscriptions of one key: eight full WebSockets; a quarter of `subscriptionBytesMax`, so that other
   * keys find room.
   */
  keySubscriptionBytesMax: integer(subscriptionBytesMin).default(32 * MiB),
  /**
   * Memory of the subscriptions of all WebSockets: 67,000 subscriptions without a filter, or 1,300,000 addresses; fits
   * a heap of 2 GB.
   */
  subscriptionBytesMax: integer(subscriptionBytesMin).default(128 * MiB),
  /**
   * Bytes of events that may wait for a slow reader, per subscription without a bound of its own: 500 heads or 1,500
   * transfers.
   */
  subscriptionQueueBytes: integer(0, GiB).default(subscriptionQueueBytesDefault),
  /** The largest bound that a subscription may set. */
  subscriptionQueueBytesMax: integer(0, GiB).default(subscriptionQueueBytesMaxDefault),
  /** Blocks behind the head from which a subscription may resume: 33 hours at 12 s each; 16 MB of heads. */
  replayBlocksMax: integer(0).default(10_000),
}
