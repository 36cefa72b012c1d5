/** The thread of `handOver.ts`: makes a result of some size and returns it in one of three forms. */
import { performance } from 'node:perf_hooks'
import { Piscina } from 'piscina'
import { encodeResult } from '../src/pool/messages.js'

export interface HandOverTask {
  readonly bytes: number
  /** Time to compute before answering. */
  readonly workMs: number
}

function compute({ bytes, workMs }: HandOverTask): { gas: bigint; data: Uint8Array } {
  const endsAtMs = performance.now() + workMs
  while (performance.now() < endsAtMs);
  return { gas: 21_000n, data: new Uint8Array(bytes) }
}

export const packed = (task: HandOverTask): unknown => Piscina.move(encodeResult(compute(task)))
export const cloned = (task: HandOverTask): unknown => compute(task)
export const text = (task: HandOverTask): string => Buffer.from(compute(task).data).toString('latin1')
