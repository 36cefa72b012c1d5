/**
 * Passes calls on to upstreams: calls of unknown methods that the network's configuration lists, and calls that this
 * node can neither prove nor execute. Owns which methods these are, and their price. Does not check the answers.
 */
import { LRUCache } from 'lru-cache'
import type { ChainFamily } from '../../../data/chain/families/family.js'
import { parseQuantity, toQuantity } from '../../../primitives/bytes.js'
import { reportedMethod, type UpstreamCalls } from '../../../primitives/upstreamCalls.js'
import type { Trust } from '../answers/answer.js'
import { Failure } from '../answers/outcome.js'
import type { Json, MethodRelay, Param, ReportedAnswer, ReportedAnswers, RpcNetwork } from '../method.js'
import { type Member, noRoom } from './batch.js'
import type { RpcRequest } from './rpcRequest.js'

/** The price of a transaction, which is passed on as well. */
const relayUnits = 50

/** A subscription ends with its connection, and callers share those to upstreams. */
const subscriptionPattern = /_(un)?subscribe$/i

/**
 * Passes these methods on: `passed` contains names, or prefixes that end with `*`. Subscriptions are never passed on.
 */
export function createRelay(passed: readonly string[], { relay }: UpstreamCalls): MethodRelay {
  const names = new Set(passed)
  const beginnings = passed.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1))
  return {
    passes(method) {
      if (subscriptionPattern.test(method)) return false
      return names.has(method) || beginnings.some((beginning) => method.startsWith(beginning))
    },
    ask: relay,
  }
}

/** Maximum bytes of cached upstream answers. */
const reportedBytesMax = 4 * 2 ** 20

/**
 * Methods whose answers follow from state, and from calls on it; those of `debug_` and others follow from execution.
 */
const stateMethods: ReadonlySet<string> = new Set([
  ...['eth_getBalance', 'eth_getTransactionCount', 'eth_getCode', 'eth_getStorageAt', 'eth_getProof'],
  'eth_getAccount',
])
const callMethods: ReadonlySet<string> = new Set(['eth_call', 'eth_estimateGas', 'eth_createAccessList'])
/** Methods that follow from rules of blocks and fees, or from bytes that are not stored for every family. */
const ruledMethods: ReadonlySet<string> = new Set([
  ...['eth_gasPrice', 'eth_maxPriorityFeePerGas', 'eth_blobBaseFee', 'eth_feeHistory', 'eth_baseFee'],
  ...['eth_simulateV1', 'eth_callMany', 'eth_fillTransaction', 'eth_getBlockAccessList', 'eth_config'],
  ...['eth_getRawTransactionByHash', 'eth_getRawTransactionByBlockHashAndIndex'],
  'eth_getRawTransactionByBlockNumberAndIndex',
])
const ruledPrefixes = ['debug_', 'trace_', 'ots_'] as const
/** Methods among these that run calls alone, so that the rules of calls suffice. */
const callRunMethods: ReadonlySet<string> = new Set([
  'eth_callMany',
  'debug_traceCall',
  'debug_traceCallMany',
  'trace_call',
  'trace_callMany',
])

/**
 * Asks a gateway's upstreams for answers that this node cannot prove or compute for the family of chains. `ask` caches
 * answers until the next head, those of final blocks for longer, and sends equal concurrent calls once.
 */
export function createReported(
  { parts, execution, calls }: ChainFamily,
  { relay }: Pick<UpstreamCalls, 'relay'>,
  finalNumber: () => number,
): ReportedAnswers {
  const always = new Set(calls.asked)
  /** If the chain has no own rules, calls run by the rules of another chain, where both have the same. */
  const hasOwnRules = calls.rules !== undefined && calls.rules.fork === undefined
  const isRuled = (method: string) =>
    !(hasOwnRules && callRunMethods.has(method)) &&
    (ruledMethods.has(method) || ruledPrefixes.some((prefix) => method.startsWith(prefix)))
  const kept = new LRUCache<string, ReportedAnswer>({
    maxSize: reportedBytesMax,
    sizeCalculation: ({ json }, key) => json.length + key.length,
  })
  const inFlight = new Map<string, Promise<ReportedAnswer>>()
  const ask = async (key: string, method: string, params: string, isFinal: boolean) => {
    const text = await relay(reportedMethod, `[${JSON.stringify(method)},${params}]`)
    const end = text.indexOf(' ')
    const answer = { trust: text.slice(0, end) as Trust, json: text.slice(end + 1) }
    kept.set(isFinal && answer.trust === 'quorum' ? `${method} ${params}` : key, answer)
    return answer
  }
  return {
    mayAsk: (method) => !method.startsWith('tidegate_') && !subscriptionPattern.test(method),
    asks(method) {
      if (execution !== undefined) return false
      if (parts.state === 'reported' && stateMethods.has(method)) return true
      if (parts.calls === 'reported' && callMethods.has(method)) return true
      return always.has(method) || isRuled(method)
    },
    async ask(generation, method, params, block) {
      const key = `${generation} ${method} ${params}`
      const known = kept.get(key) ?? kept.get(`${method} ${params}`)
      if (known !== undefined) return known
      const isFinal = block !== undefined && block <= finalNumber()
      const running =
        inFlight.get(key) ?? ask(key, method, params, isFinal).finally(() => inFlight.delete(key))
      inFlight.set(key, running)
      return running
    },
  }
}

/**
 * Replaces `latest` by the head's number, so that all upstreams use the same block. Also returns the number of the
 * block that the parameters name, if they name one.
 */
export function atHead(
  { params: declared }: { readonly params: readonly Pick<Param<unknown>, 'name'>[] },
  params: unknown,
  head: number,
): { readonly params: unknown; readonly block: number | undefined } {
  const at = declared.findIndex(({ name }) => name === 'block' || name === 'newestBlock')
  const given = params ?? []
  if (at < 0 || !Array.isArray(given) || given.length < at) return { params, block: undefined }
  const value: unknown = given[at] ?? 'latest'
  if (value !== 'latest') {
    const number = parseQuantity(value)
    return { params, block: number === undefined ? undefined : Number(number) }
  }
  return { params: [...given.slice(0, at), toQuantity(head), ...given.slice(at + 1)], block: head }
}

/**
 * Charges for a call and passes it on. A pinned call is refused, because upstreams do not know the pin. A call that
 * fails before it is passed on costs the minimum, as other calls do.
 */
export function passOn(
  relay: MethodRelay,
  { method, params, at }: Extract<Member, { kind: 'call' }>,
  request: RpcRequest<RpcNetwork>,
): Failure | Promise<Json> {
  const { context } = request
  const refused = context.notAllowed(method)
  if (refused !== undefined) return Failure.of(refused)
  const given = params ?? []
  const isList = typeof given === 'object'
  const isPinned = request.isPinned(at)
  if (isPinned || !isList) {
    return (isPinned ? pinned : Failure.of({ kind: 'ParamsNotArray' })).chargedTo(context)
  }
  const crowded = noRoom(context)
  if (crowded !== undefined) return crowded
  const unpaid = context.pay(relayUnits)
  if (unpaid !== undefined) {
    context.release()
    return Failure.of(unpaid)
  }
  return relay.ask(method, JSON.stringify(given)).finally(() => context.release())
}

const pinned = Failure.of({
  kind: 'InvalidRequest',
  why: 'a method that is passed on to upstreams cannot be pinned to a block',
})
