/**
 * A long result that a pool thread sends in parts. Each part is sent on, so the result is never in memory as a whole. A
 * thread waits while earlier parts are not sent. Owns the path of the parts; transports own the sending, and dispatch
 * decides which callers get streams.
 */

import { FaultError } from '../../../primitives/faults.js'
import type { JobOwner } from '../../pool/jobs.js'
import type { RequestContext } from '../contexts/requestContext.js'

interface PartSink {
  /** Takes a part, and calls `taken` once the part is passed on. */
  put(part: Uint8Array, taken: () => void): void
  end(last: Uint8Array): void
  fail(): void
}

type End = { readonly last: Uint8Array } | { readonly error: unknown }

export class JsonStream {
  /** Parts that came before there was a sink. */
  #waiting: { readonly part: Uint8Array; readonly taken: () => void }[] = []
  #end: End | undefined
  #sink: PartSink | undefined
  /** Bytes of all parts so far. */
  bytes = 0
  /** Bytes of the parts that no sink has taken. */
  #waitingBytes = 0
  #count: ((change: number) => void) | undefined

  /** `cancel` ends the work; the stream fails. */
  constructor(readonly cancel: () => void) {}

  put(part: Uint8Array, passedOn: () => void): void {
    this.bytes += part.length
    this.#countBytes(part.length)
    const taken = () => {
      this.#countBytes(-part.length)
      passedOn()
    }
    if (this.#sink === undefined) this.#waiting.push({ part, taken })
    else this.#sink.put(part, taken)
  }

  finish(end: End): void {
    this.#end = end
    if ('last' in end) {
      this.bytes += end.last.length
      this.#countBytes(end.last.length)
    }
    if (this.#sink !== undefined) this.#finishSink(this.#sink)
  }

  /**
   * From now on, `count` gets each change of the number of bytes that wait to be taken; the last part is never taken.
   */
  countWaiting(count: (change: number) => void): void {
    this.#count = count
    count(this.#waitingBytes)
  }

  #countBytes(change: number): void {
    this.#waitingBytes += change
    this.#count?.(change)
  }

  /** Passes everything to a sink. Call it once. */
  pipe(sink: PartSink): void {
    this.#sink = sink
    for (const { part, taken } of this.#waiting.splice(0)) sink.put(part, taken)
    this.#finishSink(sink)
  }

  #finishSink(sink: PartSink): void {
    if (this.#end === undefined) return
    if ('last' in this.#end) sink.end(this.#end.last)
    else sink.fail()
  }

  /**
   * The whole result, up to `bytesMax`. Rejects with FaultError TraceTooLarge beyond that, otherwise as the work does.
   */
  collect(bytesMax: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = []
    let bytes = 0
    return new Promise((resolve, reject) => {
      const isTooMuch = (more: number) => {
        bytes += more
        if (bytes <= bytesMax) return false
        this.cancel()
        reject(new FaultError({ kind: 'TraceTooLarge', limitBytes: bytesMax, isWhole: true }))
        return true
      }
      this.pipe({
        put(part, taken) {
          if (isTooMuch(part.length)) return
          parts.push(part)
          taken()
        },
        end(last) {
          if (!isTooMuch(last.length)) resolve(Buffer.concat([...parts, last]))
        },
        fail: () => reject((this.#end as { readonly error: unknown }).error),
      })
    })
  }
}

/** The outcome of a started call; a stream is collected up to `bytesMax`. */
export function collected<T>(
  started: T | Promise<T | JsonStream>,
  bytesMax: number,
  fail: (thrown: unknown) => T,
): T | Promise<T | Uint8Array> {
  if (!(started instanceof Promise)) return started
  return started.then((outcome) =>
    outcome instanceof JsonStream ? outcome.collect(bytesMax).catch(fail) : outcome,
  )
}

/** Runs a job whose result may come in parts: resolves to the whole if there is one part, otherwise to a stream. */
export function runInParts(
  run: (owner: JobOwner) => Promise<Uint8Array>,
  context: RequestContext,
): Promise<Uint8Array | JsonStream> {
  return new Promise((resolve, reject) => {
    const owner = new StreamOwner(context, resolve)
    run(owner).then(
      (last) => (owner.stream === undefined ? resolve(last) : owner.stream.finish({ last })),
      (error) => (owner.stream === undefined ? reject(error) : owner.stream.finish({ error })),
    )
  })
}

/** The owner of one job of a caller: it ends with the caller, or earlier. */
class StreamOwner implements JobOwner {
  stream: JsonStream | undefined
  readonly #context: RequestContext
  readonly #begin: (stream: JsonStream) => void
  readonly #listeners = new Set<() => void>()
  #hasLeft = false

  /** `begin` gets the stream with its first part. */
  constructor(context: RequestContext, begin: (stream: JsonStream) => void) {
    this.#context = context
    this.#begin = begin
  }

  get keyId(): string {
    return this.#context.keyId
  }

  get weight(): number {
    return this.#context.weight
  }

  get isFinished(): boolean {
    return this.#hasLeft || this.#context.isFinished
  }

  onFinished(listener: () => void): void {
    if (this.isFinished) return listener()
    this.#listeners.add(listener)
    this.#context.onFinished(listener)
  }

  forget(listener: () => void): void {
    this.#listeners.delete(listener)
    this.#context.forget(listener)
  }

  ran(cpuMs: number): void {
    this.#context.ran(cpuMs)
  }

  takePart(part: Uint8Array, taken: () => void): void {
    this.#context.answered(part.length)
    const isFirst = this.stream === undefined
    this.stream ??= new JsonStream(() => this.#leave())
    this.stream.put(part, taken)
    if (isFirst) this.#begin(this.stream)
  }

  #leave(): void {
    this.#hasLeft = true
    for (const listener of [...this.#listeners]) listener()
  }
}
