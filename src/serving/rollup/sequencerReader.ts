/** Reads from a sequencer on behalf of callers. Owns the limits of these reads; results are passed on unchanged. */
import { FaultError } from '../../primitives/faults.js'
import { createExchange } from './sequencerExchange.js'

/** Longest answer; a block with its transactions has a few MB. */
const answerBytesMax = 16 * 2 ** 20

/** Open reads per edge, so that requests to a slow sequencer do not pile up. */
const inFlightMax = 256

interface SequencerReaderOptions {
  /** URL of a JSON-RPC endpoint. */
  readonly url: string
  readonly prefix: string
  readonly timeoutMs: number
}

export class SequencerReader {
  readonly #url: URL
  readonly #prefix: string
  readonly #exchange: ReturnType<typeof createExchange>
  #inFlight = 0

  constructor({ url, prefix, timeoutMs }: SequencerReaderOptions) {
    this.#url = new URL(url)
    this.#prefix = prefix
    this.#exchange = createExchange(timeoutMs, new AbortController().signal, answerBytesMax)
  }

  /**
   * The result of `PREFIX_method`, as JSON text. Rejects with FaultError: SequencerError if the sequencer answers with
   * an error, SequencerUnanswered if it does not answer, ServerBusy if {@link inFlightMax} reads are open.
   */
  async read(method: string, params: object): Promise<string> {
    if (this.#inFlight >= inFlightMax) throw new FaultError({ kind: 'ServerBusy', retryAfterMs: 1000 })
    const call = { jsonrpc: '2.0', id: 1, method: `${this.#prefix}_${method}`, params }
    this.#inFlight++
    const answer = await this.#exchange(this.#url, JSON.stringify(call)).finally(() => this.#inFlight--)
    if (answer.kind === 'unanswered') throw new FaultError({ kind: 'SequencerUnanswered', why: answer.why })
    const { result, error } = Object(answer.json) as { result?: unknown; error?: unknown }
    const { code, message, data } = Object(error) as { code?: unknown; message?: unknown; data?: unknown }
    if (typeof code === 'number' && typeof message === 'string') {
      throw new FaultError({ kind: 'SequencerError', code, message, data })
    }
    if (result === undefined) {
      const why = `HTTP status ${answer.status}, neither a result nor an error`
      throw new FaultError({ kind: 'SequencerUnanswered', why })
    }
    return JSON.stringify(result)
  }
}
