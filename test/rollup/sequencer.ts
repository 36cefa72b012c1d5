/**
 * A sequencer for tests: a real HTTP server on loopback, on a thread of its own. It stores accepted transactions (also
 * over a restart) and records every arrival.
 */
import { Worker } from 'node:worker_threads'
import type { Test } from 'tap'
import { inTime, once } from '../library/until.js'

/** Its reaction to an arriving transaction. A transaction that it already has is always reported as known. */
export type Reaction =
  | { readonly kind: 'accept' }
  /** Accepts transactions signed with `0x1`, and refuses all others with 55. */
  | { readonly kind: 'verify' }
  /** Accepts after `ms`. */
  | { readonly kind: 'stall'; readonly ms: number }
  /** Accepts the transaction once it gets a new order for reactions. */
  | { readonly kind: 'hold' }
  /** Accepts, and ends the connection without an answer. */
  | { readonly kind: 'dropAfter' }
  /** Ends the connection without accepting. */
  | { readonly kind: 'dropBefore' }
  /** A JSON-RPC error; in the gateway's form, an error with the name of that code. */
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data?: unknown }
  | {
      readonly kind: 'gatewayError'
      readonly status: number
      readonly code: string
      readonly message: string
    }
  /** Anything else. */
  | ({ readonly kind: 'status' } & RawAnswer)

/** An answer in its raw form. */
export interface RawAnswer {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Arrival {
  /** `sender/nonce/calldata`. */
  readonly key: string
  readonly reaction: Reaction['kind']
  readonly form: 'rpc' | 'gateway'
  readonly transaction: unknown
  /** Time on the clock of the sequencer's thread, in ms. */
  readonly atMs: number
}

export interface SequencerReport {
  readonly arrivals: readonly Arrival[]
  readonly accepted: readonly { readonly key: string; readonly hash: string }[]
  /** Hashes in status requests. */
  readonly asked: readonly string[]
}

export type SequencerOrder =
  /** Reactions to the next transactions, and to all after them. */
  | { readonly kind: 'react'; readonly next?: readonly Reaction[]; readonly always?: Reaction }
  /** Compute hashes for this chain id, a felt, with an independent library, which takes some 10 ms each. */
  | { readonly kind: 'hash'; readonly chainId: string }
  /** Answers to the next requests for a status; later ones are answered correctly. */
  | { readonly kind: 'say'; readonly next: readonly RawAnswer[] }
  /** The sequencer answers a known transaction with an invalid nonce, as if it had been executed. */
  | { readonly kind: 'forget'; readonly forgets: boolean }
  | { readonly kind: 'stop' }
  | { readonly kind: 'start' }
  | { readonly kind: 'report' }

export interface TestSequencer {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  order(order: SequencerOrder): Promise<void>
  report(): Promise<SequencerReport>
}

export async function startSequencer(t: Test): Promise<TestSequencer> {
  const thread = new Worker(new URL('./sequencerThread.js', import.meta.url))
  t.teardown(() => thread.terminate())
  const [{ port }] = (await once(thread, 'message')) as [{ port: number }]
  const waiting = new Map<number, (result: unknown) => void>()
  thread.on('message', ({ id, result }: { id: number; result: unknown }) => {
    waiting.get(id)?.(result)
    waiting.delete(id)
  })
  let id = 0
  const ask = (order: SequencerOrder) => {
    const done = new Promise<unknown>((resolve) => {
      waiting.set(++id, resolve)
      thread.postMessage({ id, order })
    })
    return inTime(`the sequencer to do ${order.kind}`, done)
  }
  return {
    origin: `http://127.0.0.1:${port}`,
    order: async (order) => void (await ask(order)),
    report: async () => (await ask({ kind: 'report' })) as SequencerReport,
  }
}
