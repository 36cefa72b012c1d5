import type { Address, Hash32 } from './bytes.js'
import type { FetchMissing } from './notHeld.js'

/** What a developer chain does for its callers. */
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
] as const
/** What test tools do to a chain, and what would make one that no other client accepts. */
const refusedActions = [
  'setCode',
  'setStorageAt',
  'setNonce',
  'impersonateAccount',
  'stopImpersonatingAccount',
  'autoImpersonateAccount',
] as const

export type DeveloperAction = (typeof developerActions)[number]
export type RefusedAction = (typeof refusedActions)[number]

/** By which tools know them: `evm_mine`, `anvil_mine`, `hardhat_mine`. */
const toolPrefixes = ['evm', 'anvil', 'hardhat'] as const
export type ToolPrefix = (typeof toolPrefixes)[number]

/** Methods of developer chains, which are passed on to their source. They exist on no other network. */
export const developerMethods: readonly string[] = toolPrefixes.flatMap((prefix) =>
  [...developerActions, ...refusedActions].map((action) => `${prefix}_${action}`),
)

/** What methods that sign have the source of a developer chain do, by `relay`; see rpc/methods/signing.ts. */
export type SigningMethod = 'eth_accounts' | 'eth_sign' | 'eth_signTypedData_v4' | 'eth_sendTransaction'

/** Questions about everything that was sent and waits: with all transactions, with a sentence of each, their number. */
export type PoolQuestion = 'content' | 'inspect' | 'status'

/**
 * Asked by `relay` of a network with a signed head, which answers itself: parameters are the root of a checkpoint and
 * the hash of a block; the result is null, or what proves to who trusts the checkpoint that the block is the head.
 */
export const headProofMethod = 'tidegate_headProof'

/**
 * Asked by `relay` of a gateway for what it cannot prove or run itself: parameters are a method and its parameters. What
 * is answered begins with `none` or `quorum`, as `Tidegate-Trust` says it, and a space; the result follows.
 */
export const toldMethod = 'tidegate_told'

/** Hashes of transactions that wait for a block, in the order in which they were announced. */
export interface Announced {
  /** Says where the next ones begin. */
  readonly next: number
  /** 32 bytes each. */
  readonly hashes: Uint8Array
}

/**
 * What callers have done by the upstreams of a network, or by the source of a developer chain. The bytes given must
 * have a buffer of their own.
 */
export interface UpstreamCalls {
  /**
   * Checks a signed transaction (EIP-2718 bytes; with its blobs, EIP-4844) and passes it on; resolves to its hash once
   * an upstream took it. Rejects with FaultError: MessageRefused for one that no block may contain, UpstreamError with
   * an upstream's refusal, UpstreamsFailed where none answered.
   */
  send(raw: Uint8Array): Promise<Hash32>
  /**
   * The object of a transaction that was sent, or announced by an upstream, and is in no block yet, JSON; undefined for
   * any other, and where nobody has it any more.
   */
  pending(hash: Hash32): Promise<Uint8Array | undefined>
  /**
   * How many transactions of an account that were sent and wait follow on each other, without a gap, from nonce `next`
   * on, which is its nonce after the head that the caller sees.
   */
  waiting(sender: Address, next: bigint): Promise<number>
  /**
   * What was sent and waits, of all senders or of one, as JSON; see ingest/poolContent.ts. Rejects with FaultError
   * ResponseTooLarge.
   */
  pool(question: PoolQuestion, sender: Address | undefined): Promise<Uint8Array>
  /**
   * Transactions that were sent from here, or announced by an upstream, after those of an earlier answer (its `next`);
   * where there are none, waits up to `waitMs`, at most a second. Without `after` none, only where the next ones begin.
   * Each is announced once. Those of an upstream are not proved, and older ones than the last thousands are lost.
   */
  announced(after: number | undefined, waitMs: number): Promise<Announced>
  /**
   * Asks an upstream any question; `params` and the result are JSON. Rejects with FaultError: UpstreamError with an
   * upstream's own error, UpstreamsFailed where none answered.
   */
  relay(method: string, params: string): Promise<string>
}

/** What is asked of the source of a network; only one that may lack something fetches. */
export interface SourceCalls extends UpstreamCalls {
  readonly fetch?: FetchMissing
}
export type SourceCallName = keyof SourceCalls

/** Calls of a source as `call` makes them, by their names and arguments: on another thread, or later. */
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

/** Makes a call that was passed on. Rejects, beside as the call does, where the source does not fetch. */
export async function callSource(
  calls: SourceCalls,
  name: SourceCallName,
  args: readonly unknown[],
): Promise<unknown> {
  const call: ((...args: never) => Promise<unknown>) | undefined = calls[name]
  if (call === undefined) throw new Error('this source holds everything and fetches nothing')
  return call.apply(calls, args as never)
}
