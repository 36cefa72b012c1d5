import { StoreError } from '../../../data/store/lmdb/environment.js'
import { type Fault, FaultError } from '../../../primitives/faults.js'
import { callSource, type SourceCalls } from '../../../primitives/upstreamCalls.js'
import type { IngestCall, IngestMessage } from './messages.js'

export const sourceEnded: Fault = {
  kind: 'UpstreamsFailed',
  why: 'the source of this network has ended, see the log; upstreams are not asked',
}

export const sourceStarts: Fault = {
  kind: 'UpstreamsFailed',
  why: 'the source of this network starts; upstreams are not asked yet',
}

/** The fault of calls whose answer cannot be stored; the store reports more to the operator. */
const noRoom: Fault = {
  kind: 'UpstreamsFailed',
  why: 'answers of upstreams cannot be stored, because the disk is full',
}

/** Time between two reports of why upstreams failed a call; otherwise callers could fill the log. */
const failureMs = 10_000

/** Takes calls, makes them, and reports the result of each, or its fault. */
export class CallAnswerer {
  readonly #report: (message: IngestMessage) => void
  readonly #calls: SourceCalls
  readonly #inFlight = new Set<Promise<void>>()
  #hasEnded = false
  /** The last failure of the store that was reported to the operator. */
  #reported = ''
  #failureReported = -Infinity

  constructor(report: (message: IngestMessage) => void, calls: SourceCalls) {
    this.#report = report
    this.#calls = calls
  }

  take(call: IngestCall): void {
    if (this.#hasEnded) return this.#report({ type: 'refused', serial: call.serial, fault: sourceEnded })
    const settled = this.#settle(call).finally(() => this.#inFlight.delete(settled))
    this.#inFlight.add(settled)
  }

  /**
   * Refuses every further call. Resolves once no call is running, so that their resources can be closed. The caller
   * must also end what they wait for.
   */
  async end(): Promise<void> {
    this.#hasEnded = true
    await Promise.all(this.#inFlight)
  }

  async #settle({ serial, name, args }: IngestCall): Promise<void> {
    try {
      this.#report({ type: 'answered', serial, answer: await callSource(this.#calls, name, args) })
    } catch (error) {
      this.#report({ type: 'refused', serial, fault: this.#faultOf(error) })
    }
  }

  #faultOf(error: unknown): Fault {
    if (error instanceof FaultError) {
      this.#reportFailure(error)
      return error.fault
    }
    if (error instanceof StoreError) {
      if (error.message !== this.#reported) this.#report({ type: 'said', text: error.message })
      this.#reported = error.message
      return noRoom
    }
    this.#report({ type: 'said', text: `a defect: ${(error as Error).stack}` })
    return { kind: 'UpstreamsFailed', why: 'internal error' }
  }

  /** Reports to the operator, not to callers, which upstreams failed and why. */
  #reportFailure({ fault, message }: FaultError): void {
    if (fault.kind !== 'UpstreamsFailed' || message === fault.why || message === fault.kind) return
    if (performance.now() - this.#failureReported < failureMs) return
    this.#failureReported = performance.now()
    this.#report({ type: 'said', text: message })
  }
}
