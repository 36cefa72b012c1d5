/** What Otterscan's methods are compared with: the nested calls of `callTracer`. */
import type { Service } from '../service.js'

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

/** A call and those within it, in order. */
export function* listCalls(call: NestedCall, depth = 0, isUndone = false): Generator<PlacedCall> {
  const isGone = isUndone || call.error !== undefined
  yield { call, depth, isUndone: isGone }
  for (const inner of call.calls ?? []) yield* listCalls(inner, depth + 1, isGone)
}

/** Whether an address is one of those that precompiled contracts have. */
export function isLow(address: string | undefined): boolean {
  return address !== undefined && BigInt(address) <= 0x100n && BigInt(address) > 0n
}
