import type { Address, Hash32 } from './bytes.js'
import type { FetchMissing } from './notStored.js'

/** Actions of a developer chain for its callers. */
const developerActions = [
  'mine',
  'increaseTime',
  'setNextBlockTimestamp',
  'snapshot',
  'revert',
  'setBalance',
  'setAutomine',
  'getAutomine',
  'setIntervalMining',
  'dropTransaction',
  'addBalance',
  'setCode',
  'setStorageAt',
  'setNonce',
  'setCoinbase',
  'setNextBlockBaseFeePerGas',
  'setPrevRandao',
  'setBlockGasLimit',
  'setTime',
  'mine_detailed',
  'nodeInfo',
  'metadata',
  'setLoggingEnabled',
  'dropAllTransactions',
  'impersonateAccount',
  'stopImpersonatingAccount',
  'autoImpersonateAccount',
  'intervalMine',
  'getIntervalMining',
  'setBlockTimestampInterval',
  'removeBlockTimestampInterval',
  'removePoolTransactions',
  'dumpState',
  'loadState',
  'reset',
  'rollback',
  'reorg',
  'setChainId',
  'setMinGasPrice',
  'setRpcUrl',
] as const

export type DeveloperAction = (typeof developerActions)[number]

/** Prefixes of these methods in tools: `evm_mine`, `anvil_mine`, `hardhat_mine`. */
export const toolPrefixes = ['evm', 'anvil', 'hardhat'] as const
export type ToolPrefix = (typeof toolPrefixes)[number]

/** The account that gets the fees of the next block of a developer chain. */
export const coinbaseMethod = 'eth_coinbase'

/** Methods of developer chains, which are forwarded to their source. They exist on no other network. */
export const developerMethods: readonly string[] = [
  coinbaseMethod,
  ...toolPrefixes.flatMap((prefix) => developerActions.map((action) => `${prefix}_${action}`)),
]

/**
 * Limits the data of built blocks in batches on L1; op-batcher calls it. It exists only on networks under a consensus
 * client whose blocks go into batches.
 */
export const dataLimitsMethod = 'miner_setMaxDASize'

/** Requests of signing methods to the source of a developer chain, through `relay`; see rpc/methods/signing.ts. */
export type SigningMethod =
  | 'eth_accounts'
  | 'eth_sign'
  | 'eth_signTypedData_v4'
  | 'eth_signTransaction'
  | 'eth_sendTransaction'
  | 'eth_sendUnsignedTransaction'

/** Requests about all sent and waiting transactions: whole transactions, a summary of each, or their number. */
export type PoolQuestion = 'content' | 'inspect' | 'status'

/**
 * Method for `relay` of a network with a signed head, which answers it itself. Parameters are the root of a checkpoint
 * and the hash of a block. The result is null, or a proof, for a client that trusts the checkpoint, that the block is
 * the head.
 */
export const headProofMethod = 'tidegate_headProof'

/**
 * Method for `relay` of a gateway, for requests that it cannot prove or execute itself. Parameters are a method and its
 * parameters. The answer begins with `none` or `quorum`, the value for `Tidegate-Trust`, and a space; the result
 * follows.
 */
export const reportedMethod = 'tidegate_told'

/**
 * Method for `relay` of a network under a consensus client. Parameters are a whole request as the listener got it; the
 * answer is that of JSON-RPC.
 */
export const engineRequestMethod = 'tidegate_engineRequest'

/** Hashes of transactions that wait for a block, in the order of their announcement. */
export interface Announced {
  /** Position at which the next ones begin. */
  readonly next: number
  /** 32 bytes each. */
  readonly hashes: Uint8Array
}

/**
 * Calls to the upstreams of a network, or to the source of a developer chain. Given bytes must have a buffer of their
 * own.
 */
export interface UpstreamCalls {
  /**
   * Checks a signed transaction (EIP-2718 bytes; with its blobs, EIP-4844) and forwards it; resolves to its hash once
   * an upstream accepted it. Rejects with FaultError: MessageRefused if no block may contain it, UpstreamError with an
   * upstream's refusal, UpstreamsFailed if none answered.
   */
  send(raw: Uint8Array): Promise<Hash32>
  /**
   * The JSON object of a transaction that was sent, or announced by an upstream, and is in no block yet. Undefined for
   * any other, and if no node has it any more.
   */
  pending(hash: Hash32): Promise<Uint8Array | undefined>
  /**
   * Number of sent and waiting transactions of an account whose nonces follow each other without a gap from `next` on.
   * `next` is its nonce after the caller's head.
   */
  waiting(sender: Address, next: bigint): Promise<number>
  /**
   * Sent and waiting transactions, of all senders or of one, as JSON; see ingest/transactions/poolContent.ts. Rejects with
   * FaultError ResponseTooLarge.
   */
  pool(question: PoolQuestion, sender: Address | undefined): Promise<Uint8Array>
  /**
   * Transactions that were sent from here, or announced by an upstream, after those of an earlier answer (its `next`).
   * If there are none, waits up to `waitMs`, at most a second. Without `after` it returns none, only the position of
   * the next. Each is announced once. Those of an upstream are not proved, and only the last thousands are kept.
   */
  announced(after: number | undefined, waitMs: number): Promise<Announced>
  /**
   * Sends any request to an upstream; `params` and the result are JSON. Rejects with FaultError: UpstreamError with an
   * upstream's own error, UpstreamsFailed if none answered.
   */
  relay(method: string, params: string): Promise<string>
}

/** Calls to the source of a network; only a source that may lack data has `fetch`. */
export interface SourceCalls extends UpstreamCalls {
  readonly fetch?: FetchMissing
}
export type SourceCallName = keyof SourceCalls

/**
 * The calls of a source as an object. Each passes its name and arguments to `call`, which may send them to another
 * thread, or store them.
 */
export function sourceCallsBy(
  call: (name: SourceCallName, args: readonly unknown[]) => Promise<unknown>,
): Required<SourceCalls> {
  const by =
    (name: SourceCallName) =>
    (...args: unknown[]): Promise<never> =>
      call(name, args) as Promise<never>
  return {
    send: by('send'),
    pending: by('pending'),
    waiting: by('waiting'),
    pool: by('pool'),
    announced: by('announced'),
    relay: by('relay'),
    fetch: by('fetch'),
  }
}

/** Makes a call by its name. Rejects as the call does, and if the source does not fetch. */
export async function callSource(
  calls: SourceCalls,
  name: SourceCallName,
  args: readonly unknown[],
): Promise<unknown> {
  const call: ((...args: never) => Promise<unknown>) | undefined = calls[name]
  if (call === undefined) throw new Error('this source has all data and fetches none')
  return call.apply(calls, args as never)
}
