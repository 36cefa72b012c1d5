/** The thread of `offload.ts`: makes a result of some size and returns it in one of three forms. */
import { performance } from 'node:perf_hooks'
import { Piscina } from 'piscina'
import { encodeResult } from '../../src/pool/messages.js'

export interface OffloadTask {
  readonly bytes: number
  /** Time to compute before answering. */
  readonly workMs: number
}

function compute({ bytes, workMs }: OffloadTask): { gas: bigint; data: Uint8Array } {
  const endsAtMs = performance.now() + workMs
  while (performance.now() < endsAtMs);
  return { gas: 21_000n, data: new Uint8Array(bytes) }
}

export const packed = (task: OffloadTask): unknown => Piscina.move(encodeResult(compute(task)))
export const cloned = (task: OffloadTask): unknown => compute(task)
export const text = (task: OffloadTask): string => Buffer.from(compute(task).data).toString('latin1')
