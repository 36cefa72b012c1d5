/** The part of the configuration file for a network of kind `rollup`, with the reasons for its limits. */
import * as z from 'zod'
import { databaseUrl, schemaName } from './databases.js'
import { flag, integer, list, object, text } from './schema.js'

const MiB = 2 ** 20
const hourMs = 3_600_000

const prefixExpected = 'a word of up to 32 letters and digits other than eth, net, web3 and tidegate'
const chainIdExpected = 'up to 31 ASCII characters such as "SN_MAIN", or hex of up to 31 bytes'

/**
 * Methods are named PREFIX_method. Prefixes of other methods are not allowed, because a rollup network has none of
 * these.
 */
function prefix() {
  return text(prefixExpected).regex(/^(?!(?:eth|net|web3|tidegate)$)[a-zA-Z][a-zA-Z0-9]{0,31}$/, {
    error: `expected ${prefixExpected}`,
  })
}

/** Time of one exchange with the sequencer, which validates within a second or two. */
const timeoutMsDefault = 10_000

const upstreamShape = {
  url: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }),
  /** JSON-RPC with `PREFIX_addInvokeTransaction`, or a gateway with `/gateway/add_transaction`. */
  form: z.enum(['rpc', 'gateway'], { error: 'expected "rpc" or "gateway"' }).default('rpc'),
  /** JSON-RPC endpoint for reads; `url` if absent and `form` is `rpc`. */
  readUrl: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }).optional(),
  /** Prefix of the sequencer's methods; if absent, the network's own. */
  prefix: prefix().optional(),
  /** `wait`: the answer is the sequencer's verdict. `accept`: the hash, as soon as the transaction is on disk. */
  mode: z.enum(['wait', 'accept'], { error: 'expected "wait" or "accept"' }).default('wait'),
  /** Time limit of one exchange with the sequencer, connecting included. */
  timeoutMs: integer(100, 600_000).default(timeoutMsDefault),
  /**
   * Time that a request waits for the verdict. After that the hash is the answer, and delivery continues. If absent,
   * see {@link verdictMsMaxOf}.
   */
  waitMs: integer(0, 600_000).optional(),
  /** Transactions sent to the sequencer at the same time: at 0.2 s each, 300 per second. */
  inFlightMax: integer(1, 1_000).default(64),
  /** A transaction is given up after this many unknown answers: 8 take some 10 s. */
  unknownAnswersMax: integer(1, 1_000).default(8),
}

/** Longer than a garbage collection or a busy database, short enough that transactions hardly wait. */
const leaseMsDefault = 5_000

const sharedShape = {
  url: databaseUrl,
  /** The PostgreSQL schema of the tables; if absent, it is named after the network. */
  schema: schemaName.optional(),
  /** Time for which a dead process prevents others from sending to the sequencer. */
  leaseMs: integer(200, 600_000).default(leaseMsDefault),
}

const queueShape = {
  /** The PostgreSQL that stores the transactions for several processes; if absent, the data folder stores them. */
  shared: object(sharedShape).optional(),
  /** Transactions that wait for the sequencer: 50 s at 200 per second. */
  transactionsMax: integer(1).default(10_000),
  /** Limit of waiting transactions in bytes of JSON: 25 KB each, ten times an ordinary one. */
  bytesMax: integer(1).default(256 * MiB),
  /**
   * Share of one API key, in percent of the places and bytes that other keys leave free. If eight keys take their full
   * share, each has less than the one before, and a tenth of the places stays free.
   */
  keySharePercent: integer(1, 100).default(25),
  /** Time after which a transaction is given up. A wallet has sent another one by then. */
  ageMsMax: integer(1_000).default(24 * hourMs),
  /** Time for which the outcome of a transaction can be read. */
  retentionMs: integer(0).default(24 * hourMs),
  /**
   * Settled transactions kept: some 250 MB of ordinary ones. The oldest of the keys with the most are removed first.
   */
  settledMax: integer(0).default(100_000),
}

export const rollupShape = {
  /** Takes transactions and sends them to a sequencer; has no chain. */
  kind: z.literal('rollup'),
  /** Part of every transaction hash. */
  chainId: text(chainIdExpected).regex(/^(?:0x(?!0*$)[0-9a-fA-F]{1,62}|(?!0x)[\x21-\x7e]{1,31})$/, {
    error: `expected ${chainIdExpected}`,
  }),
  /** Methods are PREFIX_addInvokeTransaction and so on. */
  prefix: prefix().default('rollupx'),
  /** Further prefixes of the same methods. */
  aliases: list(prefix()).default([]),
  /** If absent, transactions are only stored. */
  upstream: object(upstreamShape).optional(),
  /** Felts of calldata. The sequencers' limit. */
  calldataMax: integer(0, 100_000).default(5_000),
  /** Felts of a signature. The sequencers' limit. */
  signatureMax: integer(0, 100_000).default(4_000),
  /** Whether a transaction that is already known is answered with its hash instead of error 59. */
  idempotent: flag().default(false),
  queue: object(queueShape).prefault({}),
}

/** Part of a request's time reserved for sending the hash if no verdict came. */
const lastAnswerMs = 1_000

/** Time that a request waits for the sequencer's verdict; undefined if it does not wait. */
export function verdictMsMaxOf(
  upstream: z.output<z.ZodObject<typeof upstreamShape>> | undefined,
  requestMsMax: number,
): number | undefined {
  if (upstream?.mode !== 'wait') return undefined
  return upstream.waitMs ?? Math.max(0, Math.min(timeoutMsDefault, requestMsMax - lastAnswerMs))
}

/** Settings of a network without a file. */
export function parseRollupEntry(
  value: z.input<z.ZodObject<typeof rollupShape>> & { readonly name: string },
) {
  return object({ name: z.string(), hosts: z.array(z.string()).default([]), ...rollupShape }).parse(value)
}

/** The PostgreSQL schema of a shared queue whose entry names none. */
export function queueSchemaOf(network: string): string {
  return `tidegate_queue_${network}`
}
