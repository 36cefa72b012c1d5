import { Worker } from 'node:worker_threads'
import { defer } from '../../primitives/deferred.js'
import { OperatorError } from '../../primitives/faults.js'
import { startedUrl } from '../../primitives/packageRoot.js'
import type { UsageReport } from '../../serving/access/usageCounter.js'
import { decodeArgs, encodeResult, encodeThrown } from '../../serving/pool/messages.js'
import { type Identity, RequestContext } from '../../serving/rpc/contexts/requestContext.js'
import type { AskedCall, AskedJob, CallName, EdgeCommand, EdgeData, EdgeMessage } from './messages.js'

/** Time that an exiting process waits for each edge to close its server. */
const silentMsMax = 1_000

/** Handlers of the calls that edges make, by name; {@link CallName} lists arguments and results. */
type CallHandlers = {
  readonly [N in CallName]: (args: never, context: RequestContext) => unknown
} & {
  /** Runs a job; resolves to the reply of its thread. */
  job(job: AskedJob, context: RequestContext): Promise<Uint8Array>
  used(report: UsageReport): void
}

export interface EdgeThreads {
  /** Resolves once all listen. Rejects with OperatorError for a cause that the operator can remove, else with Error. */
  readonly listening: Promise<void>
  /** Rejects in the same manner when an edge ends unasked; never resolves. */
  readonly lost: Promise<never>
  broadcast(command: EdgeCommand): void
  /** Asks all edges to finish open requests and to end; resolves when all have ended. */
  close(): Promise<void>
}

interface EdgeThread {
  readonly worker: Worker
  readonly listening: Promise<void>
  /** Resolves when the thread has ended: with the error if it ended unasked, otherwise with undefined. */
  readonly ended: Promise<Error | undefined>
}

/**
 * Starts `count` edges, numbered from 1, each on a thread of its own. They are never terminated. A thread that ends
 * while uWebSockets.js listens in it aborts the process (libuv finds an open handle), and one that ends inside lmdb
 * may. So an edge with a defect closes its server before it ends, and all edges do before the process exits. An ended
 * edge is not replaced, because its part of the shared counters would remain.
 */
export function startEdgeThreads(
  count: number,
  data: Omit<EdgeData, 'index' | 'silent'>,
  handlers: CallHandlers,
): EdgeThreads {
  const silent = new Int32Array(new SharedArrayBuffer((count + 1) * Int32Array.BYTES_PER_ELEMENT))
  let isClosing = false
  const threads = Array.from({ length: count }, (_, at) =>
    startThread({ ...data, index: at + 1, silent: silent.buffer }, handlers, () => isClosing),
  )
  const broadcast = (command: EdgeCommand) => {
    for (const { worker } of threads) worker.postMessage(command)
  }
  const silence = () => {
    broadcast({ type: 'abandon' })
    for (let index = 1; index <= count; index++) Atomics.wait(silent, index, 0, silentMsMax)
  }
  process.on('exit', silence)
  const allEnded = Promise.all(threads.map(({ ended }) => ended)).finally(() => process.off('exit', silence))
  const lost = defer<never>()
  lost.promise.catch(() => undefined)
  for (const { ended } of threads) {
    void ended.then((reason) => reason !== undefined && lost.reject(reason))
  }
  return {
    listening: Promise.all(threads.map(({ listening }) => listening)).then(() => undefined),
    lost: lost.promise,
    broadcast,
    async close() {
      isClosing = true
      broadcast({ type: 'close' })
      await allEnded
    },
  }
}

/** A caller on another edge. Records the CPU time, which that edge charges, and passes parts to it. */
class RelayedCaller extends RequestContext {
  cpuMs = 0
  readonly #put: (part: Uint8Array<ArrayBuffer>) => void
  /** Callbacks of the parts that the other edge has not passed on, oldest first; the job waits beyond some of them. */
  readonly #untaken: (() => void)[] = []

  constructor(put: (part: Uint8Array<ArrayBuffer>) => void, identity: Identity | undefined) {
    super(undefined, identity)
    this.#put = put
  }

  override ran(cpuMs: number): void {
    this.cpuMs += cpuMs
  }

  takePart(part: Uint8Array<ArrayBuffer>, taken: () => void): void {
    this.#untaken.push(taken)
    this.#put(part)
  }

  /** Reports that the other edge passed on one more part. */
  taken(): void {
    this.#untaken.shift()?.()
  }
}

/** The reply in memory of its own. Rejects with the handler's exception. */
async function replyTo(
  asked: AskedCall | AskedJob,
  context: RequestContext,
  handlers: CallHandlers,
): Promise<Uint8Array<ArrayBuffer>> {
  if (asked.type === 'call')
    return encodeResult(await handlers[asked.name](decodeArgs(asked.args) as never, context))
  const reply = await handlers.job(asked, context)
  // Short replies share memory, so they are copied.
  return reply.length === reply.buffer.byteLength ? (reply as Uint8Array<ArrayBuffer>) : new Uint8Array(reply)
}

function startThread(data: EdgeData, handlers: CallHandlers, isClosing: () => boolean): EdgeThread {
  const worker = new Worker(startedUrl('edge'), { workerData: data })
  const listening = defer<void>()
  const ended = defer<Error | undefined>()
  listening.promise.catch(() => undefined)
  const callers = new Map<number, RelayedCaller>()
  const answer = async (asked: AskedCall | AskedJob): Promise<void> => {
    const { serial, keyId, weight = 1 } = asked
    const context = new RelayedCaller(
      (part) => worker.postMessage({ type: 'part', serial, part } satisfies EdgeCommand, [part.buffer]),
      keyId === undefined ? undefined : { key: { id: keyId, limits: { weight } } },
    )
    callers.set(serial, context)
    const reply = await replyTo(asked, context, handlers).catch(encodeThrown)
    callers.delete(serial)
    const { cpuMs } = context
    worker.postMessage({ type: 'reply', serial, reply, cpuMs } satisfies EdgeCommand, [reply.buffer])
  }
  let failure: Error | undefined
  worker.on('message', (message: EdgeMessage) => {
    switch (message.type) {
      case 'listening':
        return listening.resolve()
      case 'failed':
        failure = message.isDefect ? new Error(message.message) : new OperatorError(message.message)
        if (message.stack !== undefined) failure.stack = message.stack
        return
      case 'used':
        return handlers.used(message.report)
      case 'call':
      case 'job':
        return void answer(message)
      case 'cancel':
        return callers.get(message.serial)?.finish()
      case 'taken':
        return callers.get(message.serial)?.taken()
    }
  })
  worker.on('error', (error) => {
    failure = error
  })
  worker.on('exit', () => {
    for (const context of callers.values()) context.finish()
    if (!isClosing()) failure ??= new Error(`the thread of edge ${data.index} ended`)
    if (failure !== undefined) listening.reject(failure)
    ended.resolve(failure)
  })
  return { worker, listening: listening.promise, ended: ended.promise }
}
