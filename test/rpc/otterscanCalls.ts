/** The reference for Otterscan's methods: the nested calls of `callTracer`. */
import type { Service } from '../service/service.js'
import { blocks, quantity } from './demoChain.js'

export interface NestedCall {
  readonly type: string
  readonly from: string
  readonly to?: string
  readonly value?: string
  readonly input: string
  readonly output?: string
  readonly error?: string
  readonly calls?: readonly NestedCall[]
}

/** A call of the list, and whether it or a call around it failed. */
export interface PlacedCall {
  readonly call: NestedCall
  readonly depth: number
  readonly isUndone: boolean
}

export async function nestedCalls(service: Service, hash: string): Promise<NestedCall> {
  const options = { tracer: 'callTracer' }
  return (await service.call('debug_traceTransaction', [hash, options])).result as NestedCall
}

/** A call and its inner calls, in order. */
export function* listCalls(call: NestedCall, depth = 0, isUndone = false): Generator<PlacedCall> {
  const isGone = isUndone || call.error !== undefined
  yield { call, depth, isUndone: isGone }
  for (const inner of call.calls ?? []) yield* listCalls(inner, depth + 1, isGone)
}

/** Whether an address is in the range of precompiled contracts. */
export function isLow(address: string | undefined): boolean {
  return address !== undefined && BigInt(address) <= 0x100n && BigInt(address) > 0n
}

/** A transaction of the demo chain with its calls. */
export interface TracedTransaction {
  readonly number: number
  readonly hash: string
  readonly call: NestedCall
}

/** Every transaction of the demo chain, in order. */
export async function traceChain(service: Service): Promise<TracedTransaction[]> {
  const all: TracedTransaction[] = []
  for (const { number, hash } of blocks.filter(({ transactions }) => transactions.length > 0)) {
    const { result } = await service.call('debug_traceBlockByHash', [hash, { tracer: 'callTracer' }])
    for (const each of result) all.push({ number, hash: each.txHash, call: each.result })
  }
  return all
}

/** Addresses with calls from or to them. */
export function partiesOf(call: NestedCall): Set<string | undefined> {
  return new Set([...listCalls(call)].flatMap(({ call: { from, to } }) => [from, to]))
}

/** Numbers of the blocks that changed an account. */
export async function changesOf(service: Service, address: string): Promise<Set<number>> {
  const changes = new Set<number>()
  let before = ''
  for (const { number } of blocks) {
    const after = JSON.stringify((await service.call('eth_getAccount', [address, quantity(number)])).result)
    if (after !== before) changes.add(number)
    before = after
  }
  return changes
}
